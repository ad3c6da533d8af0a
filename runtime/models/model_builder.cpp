#include "runtime/models/model_builder.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/graph/graph_data.h"
#include "runtime/models/adapters.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/dequantize.h"
#include "shaders/params/quantized.h"
#include "shaders/params/step.h"

namespace vantage::internal {

namespace model_names {
namespace {
std::string of_layer(const char* what, std::int64_t layer, AttentionKind kind) {
    const char* whose = kind == AttentionKind::self ? "" : kind == AttentionKind::encoder ? "encoder." : "cross.";
    return std::string(what) + whose + std::to_string(layer);
}
}  // namespace
std::string keys(std::int64_t layer, AttentionKind kind) { return of_layer("cache.k.", layer, kind); }
std::string values(std::int64_t layer, AttentionKind kind) { return of_layer("cache.v.", layer, kind); }
std::string global_keys(std::int64_t layer) { return "cache.global_k." + std::to_string(layer); }
std::string global_values(std::int64_t layer) { return "cache.global_v." + std::to_string(layer); }
std::string visible_keys(std::int64_t window) { return "visible_keys." + std::to_string(window); }
std::string conv_inputs(std::int64_t layer) { return "cache.conv." + std::to_string(layer); }
std::string state_space(std::int64_t layer) { return "cache.state." + std::to_string(layer); }
std::string recorded_queries(std::int64_t layer, AttentionKind kind) { return of_layer("watch.q.", layer, kind); }
std::string recorded_lse(std::int64_t layer, AttentionKind kind) { return of_layer("watch.lse.", layer, kind); }
std::string recorded_bias(std::int64_t layer, AttentionKind kind) { return of_layer("watch.bias.", layer, kind); }
std::string recorded_key(std::int64_t layer, AttentionKind kind) { return of_layer("watch.key.", layer, kind); }
std::string key_logs(std::int64_t layer, AttentionKind kind) { return of_layer("cache.log.", layer, kind); }
std::string head_mask(std::int64_t layer, AttentionKind kind) { return of_layer(head_masks, layer, kind); }
std::string head_shift(std::int64_t layer, AttentionKind kind) { return of_layer("head_shift.", layer, kind); }
std::string router(std::int64_t layer) { return "router." + std::to_string(layer); }
std::string hidden(std::int64_t index) { return "hidden." + std::to_string(index); }
}  // namespace model_names

ModelBuilder::ModelBuilder(Graph& g, const ModelConfig& c, const BuildOptions& o) : graph(g), config(c), options(o) {
    const auto [ids, place] = options.encoder ? std::pair(model_names::source_tokens, model_names::source_step)
                                              : std::pair(model_names::tokens, model_names::step);
    if (trains()) {
        const bool sees = options.encoder ? config.sees() : config.is_vision();
        if (!sees) tokens = training_input(ids, {options.sequences * options.rows});
        return;
    }
    tokens = graph.state(ids, {options.sequences, options.context}, DType::i32, true);
    step = begin_step(graph.state(place, {options.sequences, STEP_WORDS}, DType::u32, true), options.rows);
}

Tensor ModelBuilder::by_sequence(Tensor rows) {
    const auto sizes = rows.shape().sizes();
    std::vector<std::int64_t> split{options.sequences, sizes[0] / options.sequences};
    split.insert(split.end(), sizes.begin() + 1, sizes.end());
    return graph.reshape(rows, Shape(split));
}

Tensor ModelBuilder::all_rows(Tensor by_sequence) {
    const auto sizes = by_sequence.shape().sizes();
    std::vector<std::int64_t> joined{sizes[0] * sizes[1]};
    joined.insert(joined.end(), sizes.begin() + 2, sizes.end());
    return graph.reshape(by_sequence, Shape(joined));
}

Tensor ModelBuilder::training_input(const std::string& name, const Shape& shape, DType type) {
    return options.training->input ? options.training->input(name, shape, type) : graph.input(name, shape, type);
}

Tensor ModelBuilder::numbers_of_rows(const std::string& name, const Shape& shape, DType type) {
    return trains() ? training_input(name, shape, type) : graph.state(name, shape, type, true);
}

Tensor ModelBuilder::row_positions(std::int64_t offset) {
    if (options.training->documents) {
        Tensor& rows = integers_[model_names::document_rows + std::to_string(offset)];
        if (!rows)
            rows =
                training_input(model_names::document_rows + std::to_string(offset), {options.sequences * options.rows});
        return rows;
    }
    std::vector<std::int32_t> ids;
    for (std::int64_t row = 0; row < options.sequences * options.rows; ++row)
        ids.push_back(static_cast<std::int32_t>(row % options.rows + offset));
    return integers(format("{}row positions + {}", options.encoder ? "source " : "", offset), ids);
}

Tensor ModelBuilder::trained_lengths(bool causal) {
    if (!trains() || causal || config.is_vision()) return {};
    if (options.encoder) return source_length();
    Tensor& lengths = integers_[model_names::length];
    if (!lengths) lengths = training_input(model_names::length, {options.sequences});
    return lengths;
}

Tensor ModelBuilder::embed(Tensor table, Tensor positions, std::int64_t position_offset, double factor) {
    if (trains()) {
        const Tensor words = embedding(tokens, table, {}, {.scale = factor});
        return positions ? words + this->positions(positions, position_offset) : words;
    }
    return embedding(
        tokens, table, positions,
        {.scale = factor, .position_offset = position_offset, .rows = options.sequences * options.rows, .step = step});
}

Tensor ModelBuilder::integers(const std::string& name, std::span<const std::int32_t> values) {
    Tensor& made = integers_[name];
    const auto bytes = std::as_bytes(values);
    if (!made)
        made =
            graph.constant(name, {std::ssize(values)}, DType::i32, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return made;
}

Tensor ModelBuilder::positions(Tensor table, std::int64_t offset) {
    if (trains()) return embedding(row_positions(offset), table);
    std::vector<std::int32_t> ids(
        static_cast<std::size_t>(options.context));  // of a sequence whose ids are its positions
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(offset));
    return embedding(integers("positions", ids), table, {}, {.rows = options.sequences * options.rows, .step = step});
}

Tensor ModelBuilder::by_token(const char* name, Tensor table) {
    Tensor& numbers = integers_[name];
    if (trains()) {
        if (!numbers) numbers = training_input(name, {options.sequences * options.rows});
        return embedding(numbers, table);
    }
    if (!numbers) numbers = graph.state(name, {options.sequences, options.context}, DType::i32, true);
    return embedding(numbers, table, {}, {.rows = options.sequences * options.rows, .step = step});
}

Tensor ModelBuilder::first_rows(Tensor x, std::int64_t count) {
    const std::int64_t each = x.shape()[0] / options.sequences;
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < options.sequences * count; ++i)
        numbers.push_back(static_cast<std::int32_t>(i / count * each + i % count));
    const std::string name = "first." + std::to_string(count);  // of one sequence the same for any number of rows
    return embedding(integers(options.sequences > 1 ? sized(name, each) : name, numbers), x);
}

std::string ModelBuilder::sized(const std::string& name, std::int64_t rows) const {
    return name + " of " + std::to_string(options.sequences) + " x " + std::to_string(rows);
}

// Plans with fewer rows than the text are built for their states and never run: their positions are cut.
Tensor ModelBuilder::rows_at(Tensor x, std::span<const std::int64_t> positions) {
    const std::int64_t each = x.shape()[0] / options.sequences;
    std::vector<std::int32_t> numbers;
    for (std::int64_t sequence = 0; sequence < options.sequences; ++sequence)
        for (const std::int64_t position : positions)
            numbers.push_back(static_cast<std::int32_t>(sequence * each + std::min(position, each - 1)));
    return embedding(integers(sized("rows", each), numbers), x);
}

Tensor ModelBuilder::with_rows_at(Tensor x, Tensor rows, std::span<const std::int64_t> positions) {
    const std::int64_t each = x.shape()[0] / options.sequences, count = std::ssize(positions);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(x.shape()[0]));  // of x with `rows` behind it
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::int64_t i = 0; i < options.sequences * count; ++i)
        if (const std::int64_t position = at(positions, i % count); position < each)
            at(numbers, i / count * each + position) = static_cast<std::int32_t>(x.shape()[0] + i);
    const auto flat = [&](Tensor t) { return graph.reshape(t, {t.shape()[0], t.shape().elements() / t.shape()[0]}); };
    return graph.reshape(embedding(integers(sized("merge", each), numbers), concat(flat(x), flat(rows))), x.shape());
}

// x Aᵀ is small, and the product with Bᵀ adds to y. Evaluation has no state of training, and no dropout.
Tensor ModelBuilder::adapted(const std::string& name, Tensor x, Tensor y) {
    if (!is_adapted(config, GraphAccess::data(graph).scope + name)) return y;
    const std::int64_t rank = config.lora->rank;
    if (trains() && options.training->train && config.lora->dropout > 0)
        x = dropout(x, drawn(config.lora->dropout), SourceLocation::here());
    const Tensor down = graph.weight_f32(name + std::string(adapter_names::down), {rank, x.shape()[-1]}),
                 up = graph.weight_f32(name + std::string(adapter_names::up), {y.shape()[-1], rank});
    return matmul(linear_transposed(x, down), up, {.transpose_b = true, .alpha = config.lora->factor()}, {}, y);
}

Tensor ModelBuilder::conv1d(const std::string& name, Tensor x, std::int64_t out) {
    return adapted(
        name, x, linear(x, graph.weight(name + ".weight", {x.shape()[-1], out}), graph.weight(name + ".bias", {out})));
}

Tensor ModelBuilder::dense(const std::string& name, Tensor x, std::int64_t out, bool bias) {
    return adapted(name, x,
                   linear_transposed(x, graph.weight(name + ".weight", {out, x.shape()[-1]}),
                                     bias ? graph.weight(name + ".bias", {out}) : Tensor()));
}

Tensor ModelBuilder::layer_norm(const std::string& name, Tensor x) {
    const Shape row{x.shape()[-1]};
    return vantage::layer_norm(x, graph.weight(name + ".weight", row), graph.weight(name + ".bias", row),
                               config.norm_eps);
}

Tensor ModelBuilder::rms_norm(const std::string& name, Tensor x, double weight_offset) {
    return vantage::rms_norm(x, graph.weight(name + ".weight", {x.shape()[-1]}), config.norm_eps, weight_offset);
}

Tensor ModelBuilder::heads(Tensor x, std::int64_t count) {
    return graph.reshape(x, {x.shape()[0], count, x.shape()[-1] / count});
}

// LongRoPE has factors for contexts beyond the one that it was first trained with; the whole sequence takes one kind.
Tensor ModelBuilder::rotate(Tensor x) {
    RopeScaling scaling = config.rope_scaling;
    if (!config.rope_long_factors.empty() && std::max(options.context, options.rope_context) > scaling.original_context)
        scaling.factors = config.rope_long_factors;
    const Tensor table = rope_table(graph, options.context, config.rotary_width, config.rope_theta, scaling);
    RopeOptions how{.interleaved = config.rope_interleaved, .step = step};
    if (trains()) how.positions = row_positions(0);
    return rope(x, table, how);
}

bool can_quantize_cache(const ModelConfig& config) {
    const std::int64_t row = config.kv_heads * config.head_width;
    return row > 0 && row % params::QUANT_BLOCK == 0;
}

Tensor ModelBuilder::cached(const std::string& name, Tensor rows, std::optional<DType> stored) {
    if (trains()) return options.training->offered[name] = rows;
    const Shape row = rows.shape();
    const DType type = stored.value_or(options.cache);
    if (is_quantized(type) && !can_quantize_cache(config))
        throw unsupported_error("a cache in {} takes rows of a multiple of {} features, but {} has rows of {}",
                                name_of(type), params::QUANT_BLOCK, config.architecture, row[1] * row[2]);
    return write(graph.state(name, {options.sequences * options.context, row[1], row[2]}, type), rows, step);
}

// The kernels of few rows read quantised keys and values. For a prompt it is faster to make floats of them once.
Tensor ModelBuilder::readable(Tensor cache, Tensor keys, bool has_kernels) {
    constexpr std::int64_t few_rows = 8;
    if (!is_quantized(cache.type().dtype)) return cache;
    if (has_kernels && options.rows <= few_rows) return cache;
    return dequantize(cache, keys, options.cache_read);
}

void ModelBuilder::refuse_documents() const {
    if (trains() && options.training->documents)
        throw unsupported_error("{} carries a state from token to token, so its documents cannot be separated",
                                config.architecture);
}

Tensor ModelBuilder::kept(const std::string& name, const Shape& row) {
    refuse_documents();
    if (trains()) return {};
    std::vector<std::int64_t> sizes{options.sequences * kept_states(options.context)};
    sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
    return graph.state(name, Shape(sizes), DType::f32);
}

bool ModelBuilder::records(std::int64_t layer) const {
    const auto i = static_cast<std::size_t>(layer);
    return i < options.record_attention.size() && options.record_attention[i];
}

Tensor ModelBuilder::record_attention(std::int64_t layer, AttentionKind kind, Tensor q, const AttentionResult& result) {
    const Shape row = q.shape();
    const std::int64_t rows = options.sequences * options.context;
    write(graph.state(model_names::recorded_lse(layer, kind), {rows, row[1]}, DType::f32), result.lse, step);
    if (result.key)
        write(graph.state(model_names::recorded_key(layer, kind), {rows, row[1]}, DType::f32), result.key, step);
    return write(graph.state(model_names::recorded_queries(layer, kind), {rows, row[1], row[2]}, DType::f32), q, step);
}

AttentionResult ModelBuilder::attend_rows(Tensor q, Tensor keys, Tensor values, AttentionOptions how) {
    if (trains() && options.training->documents) {
        Tensor& documents = integers_[model_names::documents];
        if (!documents) documents = training_input(model_names::documents, {options.sequences * options.rows});
        how.segment_ids = graph.reshape(documents, {options.sequences, options.rows}), how.packed = true;
    }
    if (trains() && options.training->attention_dropout > 0) how.dropout = drawn(options.training->attention_dropout);
    const AttentionResult result = attention(by_sequence(q), by_sequence(keys), by_sequence(values), how);
    return {.o = all_rows(result.o), .lse = all_rows(result.lse), .key = result.key ? all_rows(result.key) : Tensor()};
}

ModelBuilder::Seen ModelBuilder::attend_cached(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how) {
    const bool has_kernels =
        !how.hard && k.shape()[-1] % params::QUANT_BLOCK == 0 && v.shape()[-1] % params::QUANT_BLOCK == 0;
    const Tensor keys = readable(cached(model_names::keys(layer, own()), k), step, has_kernels),
                 values = readable(cached(model_names::values(layer, own()), v), step, has_kernels);
    how.keys_by_lane = is_quantized(options.cache) && !is_quantized(keys.type().dtype);
    return {q, keys, attend_rows(q, keys, values, how)};
}

Tensor ModelBuilder::attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how, const QKV& first) {
    const AttentionOptions defaults = config.attention(layer);
    how.causal = defaults.causal && !options.encoder, how.scale = defaults.scale, how.softcap = defaults.softcap;
    std::vector<std::int64_t> positions = options.global_positions;
    how.kv_len = trained_lengths(how.causal);
    if (first.q && trains() && options.training->documents)
        throw unsupported_error("the documents of {} cannot be separated: its first tokens see all others",
                                config.architecture);
    if (first.q && !positions.empty())  // no window: the table has it, and the global tokens
        how.block_mask = graph.state(model_names::visible_keys(defaults.window_left.value()),
                                     {options.context, options.context}, DType::i32),
        how.block_size = 1;
    else
        how.window_left = defaults.window_left, how.window_right = defaults.window_right;
    how.step = step;
    auto [queries, keys, seen] = attend_variant(layer, q, k, v, how);
    if (first.q && trains()) {  // the first rows of each sequence
        positions.resize(static_cast<std::size_t>(first.q.shape()[0] / options.sequences));
        std::iota(positions.begin(), positions.end(), 0);
    }
    if (first.q) {  // rows in place of those that stand there: an encoder's run begins at position 0
        const AttentionResult global = attend_rows(
            first.q, readable(cached(model_names::global_keys(layer), first.k), step),
            readable(cached(model_names::global_values(layer), first.v), step),
            {.scale = defaults.scale, .step = step, .keys_by_lane = is_quantized(options.cache), .kv_len = how.kv_len});
        const auto replaced = [&](Tensor x, Tensor rows) {
            return positions.empty() ? write(x, rows, step) : with_rows_at(x, rows, positions);
        };
        seen = {.o = replaced(seen.o, global.o), .lse = replaced(seen.lse, global.lse)};
        queries = replaced(q, first.q);
    }
    if (records(layer)) {
        const Tensor recorded = record_attention(layer, own(), queries, seen);
        if (how.relative_keys) {  // of the whole context, as the tap's queries are
            const Tensor bias = position_bias_of(how, recorded, keys, SourceLocation::here());
            write(graph.state(model_names::recorded_bias(layer, own()), bias.shape(), DType::f32), bias);
        }
    }
    return changed(layer, own(), graph.reshape(seen.o, {q.shape()[0], q.shape()[1] * v.shape()[2]}));
}

Tensor ModelBuilder::changed(std::int64_t layer, AttentionKind kind, Tensor heads) {
    const std::int64_t features = heads.shape()[-1];
    if (options.head_mask)
        heads = heads * graph.state(model_names::head_mask(layer, kind), {features}, DType::f32, true);
    if (!options.head_shift || options.encoder) return heads;
    return heads + by_token(model_names::shifted_rows,
                            graph.state(model_names::head_shift(layer, kind), {2, features}, DType::f32, true));
}

void ModelBuilder::write_cross_kv(std::int64_t layer, Tensor k, Tensor v) {
    cached(model_names::keys(layer, AttentionKind::cross), k, source_cache());
    cached(model_names::values(layer, AttentionKind::cross), v, source_cache());
}

Tensor ModelBuilder::offered(const std::string& name, std::int64_t heads, std::int64_t width) {
    if (trains()) return options.training->offered.at(name);
    const std::int64_t rows = options.source_context > 0 ? options.source_context : options.context;
    return graph.state(name, {options.sequences * rows, heads, width}, source_cache());
}

Tensor ModelBuilder::source_length() {
    if (!source_length_)
        source_length_ = trains() ? options.training->offered[model_names::source_length]
                                  : graph.state(model_names::source_length, {options.sequences}, DType::i32, true);
    if (!source_length_)
        source_length_ = options.training->offered[model_names::source_length] =
            training_input(model_names::source_length, {options.sequences});
    return source_length_;
}

Tensor ModelBuilder::cross_attend(std::int64_t layer, Tensor q) {
    const auto of_encoder = [&](const std::string& name) { return offered(name, config.kv_heads, config.head_width); };
    const AttentionResult result =
        attend_rows(q, of_encoder(model_names::keys(layer, AttentionKind::cross)),
                    of_encoder(model_names::values(layer, AttentionKind::cross)),
                    {.scale = config.attention(layer).scale, .step = step, .kv_len = source_length()});
    if (records(layer)) record_attention(layer, AttentionKind::cross, q, result);
    return changed(layer, AttentionKind::cross,
                   graph.reshape(result.o, {q.shape()[0], config.heads * config.head_width}));
}

Tensor ModelBuilder::align(Tensor q, std::int64_t features, Tensor w) {
    const auto of_encoder = [&](const std::string& name, std::int64_t width) {
        const Tensor state = offered(name, 1, width);
        return graph.reshape(state, {state.shape()[0], width});
    };
    if (trains())  // as attention of one head
        return graph.reshape(attend_rows(heads(q, 1), offered(model_names::keys(0, AttentionKind::cross), 1, 0),
                                         offered(model_names::values(0, AttentionKind::cross), 1, 0),
                                         {.scale = 1, .kv_len = source_length(), .additive = w})
                                 .o,
                             {q.shape()[0], features});
    const AlignmentResult result = alignment(q, of_encoder(model_names::keys(0, AttentionKind::cross), q.shape()[1]),
                                             of_encoder(model_names::values(0, AttentionKind::cross), features), w,
                                             {.step = step, .kv_len = source_length()});
    const std::int64_t rows = q.shape()[0];  // the tap makes weights from scores, whatever they are
    if (records(0))
        record_attention(0, AttentionKind::cross, graph.reshape(result.scores, {rows, 1, result.scores.shape()[1]}),
                         {.o = {}, .lse = graph.reshape(result.lse, {rows, 1})});
    return changed(0, AttentionKind::cross, result.context);
}

bool ModelBuilder::has(const std::string& weight) const { return std::ranges::count(config.absent, weight) == 0; }

void ModelBuilder::note_router(std::int64_t layer, Tensor logits) {
    if (options.hidden) graph.output(model_names::router(layer), logits);
    if (trains()) options.training->routers.push_back(logits);
}

Tensor ModelBuilder::drawn(double probability) {
    TrainingGraph& training = *options.training;
    const DropoutOptions how{.probability = probability,
                             .seed = training.seed,
                             .site = training.dropout_sites++,
                             .micro_batches = training.micro_batches};
    return dropout_draw(training.train, how, SourceLocation::here());
}

Tensor ModelBuilder::drop(Tensor x) {
    if (!trains() || options.training->dropout == 0) return x;
    return dropout(x, drawn(options.training->dropout), SourceLocation::here());
}

Tensor ModelBuilder::blocks(const char* name, Tensor x, const Block& block) {
    const std::int64_t layers = options.encoder ? config.encoder.layers : config.layers;
    x = drop(x);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        if (options.hidden) graph.output(model_names::hidden(layer), x);
        const Graph::Scope scope = graph.scope(name, static_cast<int>(layer));
        if (trains()) options.training->blocks.push_back(GraphAccess::data(graph).scope);
        x = block(layer, x);
    }
    return x;
}

void ModelBuilder::finish(Tensor x, const std::function<Tensor(Tensor)>& norm,
                          const std::function<Tensor(Tensor)>& out) {
    const Tensor seen =
        trains() ? Tensor()
                 : mark_seen(graph.state(model_names::seen, {options.sequences, (config.vocab + 31) / 32}, DType::u32),
                             tokens, step);
    if (!trains()) graph.segment("head");
    const auto logits = [&](Tensor normed) {
        const Tensor raw = out(normed);
        return config.logit_softcap > 0 ? softcap(raw, config.logit_softcap) : raw;
    };
    if (options.all_logits || trains()) {
        const Tensor last = norm(x);
        if (options.hidden) graph.output(model_names::hidden(config.layers), last);
        give_logits(last, logits);
    } else {
        const Tensor next = logits(norm(options.rows == 1 ? x : last_row(x, step)));
        graph.output(model_names::logits, next);
        const Tensor bias = options.token_bias ? graph.state(model_names::token_bias, {options.sequences, config.vocab},
                                                             DType::f32, true)
                                               : Tensor();
        sample(next, tokens, step, seen, bias);
    }
}

void ModelBuilder::finish(Tensor x, const char* norm, Tensor embedding, const char* name, bool bias) {
    finish(
        x, [&](Tensor last) { return layer_norm(norm, last); },
        [&](Tensor last) { return output(last, embedding, name, bias); });
}

void ModelBuilder::give_logits(Tensor x, const std::function<Tensor(Tensor)>& logits) {
    if (trains() && options.training->head)
        options.training->head(x, logits);
    else
        graph.output(model_names::logits, logits(x));
}

void ModelBuilder::judge_tokens(Tensor x) {
    if (config.head != Head::token_classification && config.head != Head::question_answering) return;
    const char* name = config.head == Head::question_answering ? "qa_outputs" : "classifier";
    graph.output(model_names::logits, dense(name, x, config.logit_columns(), true));
}

void ModelBuilder::finish_encoder(Tensor x) {
    if (!trains()) graph.segment("head");
    graph.output(model_names::hidden(options.encoder ? config.encoder.layers : config.layers), x);
}

Tensor ModelBuilder::output(Tensor x, Tensor embedding, const std::string& name, bool bias) {
    if (config.tied)
        return linear_transposed(x, embedding, bias ? graph.weight(name + ".bias", {config.vocab}) : Tensor());
    return dense(name, x, config.vocab, bias);
}

}  // namespace vantage::internal
