#include "runtime/session/session_core.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/quantize.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"
#include "runtime/models/attention_variant.h"
#include "runtime/session/model_access.h"
#include "runtime/text/grammar/grammar_access.h"
#include "shaders/params/kept_states.h"
#include "shaders/params/quantized.h"

namespace vantage::internal {

using text::grammar::TokenMask;
using text::grammar::VocabularyTree;

namespace {

constexpr double share_of_memory = 0.5;               // of what is available, that a context chosen here may take
constexpr std::int64_t max_scattered_context = 4096;  // a table of 4096 x 4096 numbers takes 64 MiB

void check_sampling(const Sampling& sampling) {
    constexpr double largest_penalty = 1000, largest_temperature = 1e6;
    if (!(sampling.temperature >= 0 && sampling.temperature <= largest_temperature) ||
        !(sampling.top_p >= 0 && sampling.top_p <= 1) || !(sampling.min_p >= 0 && sampling.min_p <= 1) ||
        sampling.top_k < 0 ||
        !(sampling.repeat_penalty >= 1 / largest_penalty && sampling.repeat_penalty <= largest_penalty))
        throw usage_error(
            "sampling: the temperature must be from 0 to 1e6, top-k at least 0, top-p and min-p from 0 to 1, the "
            "repeat "
            "penalty from 0.001 to 1000");
}

}  // namespace

const SessionCore& required(const std::shared_ptr<SessionOwner>& owner) {
    if (!owner) throw usage_error("this session was moved from: use the one that it was moved to");
    return owner->core();
}

SessionCore& SessionOwner::core() const {
    if (!core_)
        throw Error(ErrorKind::device_lost, "the device of this session was lost and none took its place: recover it");
    return *core_;
}

void SessionOwner::recover(const std::function<Model()>& reload) {
    if (!reload) throw usage_error("recover: there is no function that loads the model");
    if (core_) record_ = core_->record();
    core_.reset();
    core_ = std::make_unique<SessionCore>(reload(), *record_);
    record_.reset();
}

SessionUse::SessionUse(std::shared_ptr<SessionOwner> owner, bool recovers) : owner_(std::move(owner)) {
    if (!owner_) throw usage_error("this session was moved from: use the one that it was moved to");
    const std::thread::id me = std::this_thread::get_id();
    std::thread::id user = {};
    outermost_ = owner_->user_.compare_exchange_strong(user, me, std::memory_order_acquire);
    if (!outermost_ && user != me)
        throw usage_error(
            "a session belongs to one thread at a time: a call of another thread runs; give each thread its own "
            "session of the model");
    try {
        if (!recovers) owner_->core();
    } catch (const Error&) {
        end();
        throw;
    }
}

namespace {

// The options without what a session cannot do, which a warning names.
SessionOptions possible(const Model& model, SessionOptions o) {
    if (!o.cache) return o;
    if (!model.info().attends(AttentionKind::self))
        throw usage_error("the cache is {}, but {} keeps no keys and values", name_of(*o.cache), model.info().name);
    if (*o.cache != DType::f32 && *o.cache != DType::f16 && !has_byte_kernels(*o.cache))
        throw usage_error("the cache is {}, but must be f32, f16, q8_0 or q4_0", name_of(*o.cache));
    if (!is_quantized(*o.cache) || (!o.record_attention.every && o.record_attention.layers.empty())) return o;
    fall_back(format("cache {}: a session that records attention does not quantize keys; it keeps floats",
                     name_of(*o.cache)));
    o.cache.reset();
    return o;
}

}  // namespace

SessionCore::SessionCore(const Model& m, const SessionOptions& o, std::int64_t count, bool is_session)
    : alone(is_session),
      model(m),
      options(possible(m, o)),
      config(config_of(model)),
      context(checked_context(count)),
      sequences(static_cast<std::size_t>(count), SequenceState(config)),
      graphs(all_graphs(count, context)),
      states(model, graphs, context, options.guard || environment_flag("VANTAGE_GUARD")),
      plans(model, options, context, states.bindings()),
      runs(model, options, sequences, states, plans, context) {
    const std::string& weights = model.info().weight_types;
    if (options.precision == Precision::int8 && weights.find("q8_0") == std::string::npos &&
        weights.find("q4_0") == std::string::npos)
        fall_back(format("precision int8: nothing is rounded to 8 bits, because no weights of {} are q8 or q4",
                         model.info().name));
    for (std::size_t i = 0; i < sequences.size(); ++i) restart(i, options.sampling);
    write_head_mask();
    write_head_shift();
    write_visible_keys();
    write_visible_blocks();
}

SessionCore::SessionCore(const Model& m, const SessionRecord& record)
    : SessionCore(m, record.options, std::ssize(record.sequences), record.alone) {
    sequences = record.sequences;
    for (SequenceState& s : sequences) s.lose();
    runs.set_pixels(record.pixels);
    runs.set_stats(record.stats);
}

SessionRecord SessionCore::record() const {
    SessionRecord all{
        .alone = alone, .options = options, .sequences = sequences, .pixels = runs.pixels(), .stats = runs.stats()};
    all.options.context = context;
    return all;
}

SessionCore::~SessionCore() { gpu::wait_idle(states.device()); }

void SessionCore::check_options() const {
    const std::int64_t layers = std::max(config.layers, config.encoder.layers);
    for (const std::int64_t layer : options.record_attention.layers) {
        if (layer < 0 || layer >= layers)
            throw usage_error("layer {} cannot be recorded: {} has layers 0 … {}", layer, model.info().name,
                              layers - 1);
        if (config.state_space && !model.info().attends(layer, AttentionKind::self))
            throw usage_error("layer {} of {} cannot be recorded: it has no attention", layer, model.info().name);
    }
    if (options.largest_chunk < 1)
        throw usage_error("largest_chunk is {}; it must be at least 1", options.largest_chunk);
    if (!(options.submission_seconds >= 0))
        throw usage_error("submission_seconds is {:g}; it must not be negative", options.submission_seconds);
    if (options.head_shift) require_attention(model.info(), "no head can be shifted");
    check_global_tokens();
    check_variant();
}

void SessionCore::check_variant() const {
    const AttentionVariant& variant = options.variant;
    if (variant.form == AttentionForm::own) return;
    require_attention(model.info(), "attention kind " + name_of(variant));
    if (config.recurrent)
        throw usage_error("attention kind {}: {} has cross-attention only, which keeps its softmax", name_of(variant),
                          described(model.info()));
    require_number(variant);
    if (variant.form == AttentionForm::bigbird && blocks_of(options.context, variant.number) > max_scattered_context)
        throw unsupported_error(
            "attention kind {}: {} tokens are {} blocks, and the table has a number for each pair; at most {} blocks "
            "(64 MiB) are supported: use larger blocks or a smaller context",
            name_of(variant), options.context, blocks_of(options.context, variant.number), max_scattered_context);
}

void SessionCore::check_global_tokens() const {
    const std::optional<std::int64_t>& count = options.global_tokens;
    if (!count && !options.global_positions) return;
    if (!config.own.has("global_tokens")) throw usage_error(described(model.info()) + " has no global tokens");
    if (count && options.global_positions)
        throw usage_error("global_tokens and global_positions are both given; one of them is wanted");
    if (options.global_positions) return check_global_positions();
    if (*count < 0 || *count > config.context)
        throw usage_error("{} global tokens were asked for; {} allows 0 to {}", *count, model.info().name,
                          config.context);
}

void SessionCore::check_global_positions() const {
    std::vector<std::int64_t> positions = *options.global_positions;
    std::ranges::sort(positions);
    const std::int64_t tokens = options.context > 0 ? options.context : config.context;
    for (const std::int64_t position : positions)
        if (position < 0 || position >= tokens)
            throw usage_error("global position {} is outside of the context: 0 … {}", position, tokens - 1);
    if (const auto twice = std::ranges::adjacent_find(positions); twice != positions.end())
        throw usage_error("global position {} is given twice", *twice);
    if (options.context > max_scattered_context && !global_tokens_of(options).scattered.empty())
        throw unsupported_error(
            "global tokens that are not the first ones need a table of context x context numbers; a context of at most "
            "{} tokens (64 MiB) is supported, but it is {}",
            max_scattered_context, options.context);
}

void SessionCore::require_global_tokens() const {
    if (!options.global_positions || options.global_positions->empty()) return;
    const std::int64_t last = std::ranges::max(*options.global_positions);
    for (const SequenceState& s : sequences)
        if (!s.tokens.empty() && last >= s.size())
            throw usage_error("global position {} is outside of the text of {} tokens", last, s.size());
}

void SessionCore::write_visible_keys() {
    const std::vector<std::int64_t> global = global_tokens_of(options).scattered;
    if (global.empty()) return;
    std::set<std::int64_t> windows;
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
        windows.insert(config.attention(layer).window_left.value());
    for (const std::int64_t window : windows) {
        std::vector<std::int32_t> visible(static_cast<std::size_t>(context * context));
        const auto see = [&](std::int64_t query, std::int64_t key) { at(visible, query * context + key) = 1; };
        for (std::int64_t query = 0; query < context; ++query) {
            const std::int64_t end = std::min(query + window + 1, context);
            for (std::int64_t key = std::max<std::int64_t>(0, query - window); key < end; ++key) see(query, key);
            for (const std::int64_t key : global)
                if (key < context) see(query, key);
        }
        gpu::upload(states.device(), states.buffer(model_names::visible_keys(window)), 0,
                    std::as_bytes(std::span(visible)));
    }
}

void SessionCore::write_visible_blocks() {
    if (options.variant.form != AttentionForm::bigbird) return;
    for (const auto& [name, causal] : {std::pair{model_names::blocks, true}, {model_names::encoder_blocks, false}}) {
        if (!states.has(name)) continue;
        // an image's encoder has its places in place of the context
        const bool image = config.sees() && name == std::string(model_names::encoder_blocks);
        const std::vector<std::int32_t> table =
            bigbird_table(image ? config.image.places() : context, options.variant.number, causal);
        gpu::upload(states.device(), states.buffer(name), 0, std::as_bytes(std::span(table)));
    }
}

std::vector<Graph> SessionCore::all_graphs(std::int64_t count, std::int64_t tokens) const {
    std::vector<Graph> all;
    all.push_back(session_graph(model, options, tokens, {.lanes = count}));
    if (is_encoder_decoder()) all.push_back(session_graph(model, options, tokens, {.lanes = count, .encoder = true}));
    return all;
}

// Bytes on the device for one token of every sequence: caches, recorded rows, tables, the token. States are kept for
// every so many.
std::uint64_t SessionCore::bytes_per_token(std::int64_t count) const {
    const auto kept = [&](std::int64_t tokens) {
        std::map<std::string, std::uint64_t> bytes;  // by name: two graphs share some
        for (const Graph& graph : all_graphs(count, tokens))
            for (const Value& value : graph.values())
                if (value.kind == ValueKind::state || value.kind == ValueKind::constant)
                    bytes[value.name] = value.type.bytes();
        std::uint64_t sum = 0;
        for (const auto& [name, size] : bytes) sum += size;
        return sum;
    };
    const bool in_groups = is_quantized(cache_type(options));  // of numbers, which hold several tokens
    const std::int64_t tokens = config.state_space ? STATE_EVERY : in_groups ? params::QUANT_GROUP : 1;
    std::uint64_t each = (kept(1 + tokens) - kept(1)) / static_cast<std::uint64_t>(tokens);
    if (in_groups)  // a prompt's floats of one layer's keys and values
        each += static_cast<std::uint64_t>(2 * count * config.kv_heads * config.head_width) *
                (options.precision == Precision::f32 ? 4 : 2);
    return each;
}

// The context that was asked for; else what the model allows, as far as the memory holds it.
std::int64_t SessionCore::checked_context(std::int64_t count) const {
    check_options();
    if (options.context > config.context)
        throw usage_error("a context of {} tokens was asked for, but {} allows {}", options.context, model.info().name,
                          config.context);
    if (options.context < 0 || options.max_context < 0) throw usage_error("a context has at least one token");
    if (config.is_vision()) return config.context;
    // kernels count the numbers of a quantised cache in 32 bits
    const std::int64_t most =
        is_quantized(cache_type(options))
            ? (std::int64_t{1} << 31) / std::max<std::int64_t>(count * config.kv_heads * config.head_width, 1)
            : INT64_MAX;
    if (options.context > most)
        throw usage_error("a cache in {} holds {} tokens at most here, but a context of {} was asked for",
                          name_of(cache_type(options)), most, options.context);
    if (options.context > 0) return options.context;
    const bool scattered = !global_tokens_of(options).scattered.empty();
    const std::uint64_t each = bytes_per_token(count) + (scattered ? 4 * max_scattered_context : 0);
    const auto holds = static_cast<std::int64_t>(
        share_of_memory * static_cast<double>(model.device().memory_available()) / static_cast<double>(each));
    std::int64_t wanted = std::min(config.context_by_default(), most);
    if (options.max_context > 0) wanted = std::min(wanted, options.max_context);
    if (scattered) wanted = std::min(wanted, max_scattered_context);
    if (options.variant.form == AttentionForm::bigbird)
        wanted = std::min(wanted, max_scattered_context * options.variant.number);
    if (holds >= wanted) return wanted;
    const std::string of = count > 1 ? format(" of each of the {} sequences", count) : std::string();
    if (holds < 1)
        throw Error(ErrorKind::out_of_memory, "there is no device memory left for a context of even one token" + of);
    fall_back(
        format("the context is {} tokens instead of the model's {}: more would not fit the device's memory ({:.0f} KiB "
               "a token{}); --ctx sets it",
               holds, wanted, static_cast<double>(each) / 1024, of));
    return holds;
}

SessionMemory SessionCore::memory() const {
    SessionMemory m = states.memory();
    m.intermediates = plans.arena_bytes();
    return m;
}

void SessionCore::restart(std::size_t index, const Sampling& sampling) {
    set_sampling(index, sampling);
    replay.reset();
    if (alone) runs.set_stats({});
    sequences[index].restart();
}

void SessionCore::set_sampling(std::size_t index, const Sampling& sampling) {
    check_sampling(sampling);
    check_bias(sampling);
    SequenceState& s = sequences[index];
    const bool same = s.mask && sampling.grammar && GrammarAccess::same(*sampling.grammar, *s.sampling.grammar);
    std::shared_ptr<TokenMask> mask = same ? s.mask : mask_of(sampling);
    runs.changed(index);
    s.mask = std::move(mask);
    if (!same) s.grammar_from = s.size();
    s.sampling = sampling;
    s.sampling.top_k = std::min(sampling.top_k, config.vocab);
}

// The tokens' bytes are looked at when a grammar needs them first.
std::shared_ptr<TokenMask> SessionCore::mask_of(const Sampling& sampling) {
    if (!sampling.grammar) return nullptr;
    if (!vocabulary_) vocabulary_ = std::make_shared<const VocabularyTree>(model.tokenizer(), config.vocab);
    auto mask = std::make_shared<TokenMask>(*sampling.grammar, vocabulary_);
    if (!mask->any_allowed()) throw usage_error("grammar: no token of this vocabulary begins a text of it");
    return mask;
}

void SessionCore::check_bias(const Sampling& sampling) const {
    if (!sampling.uses_bias()) return;
    if (!options.token_bias)
        throw usage_error("sampling: grammars, logit biases and penalties of presence and frequency need token_bias");
    for (const auto& [token, bias] : sampling.logit_bias)
        if (token < 0 || token >= config.vocab || std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
            throw usage_error("sampling: a bias of {:g} for token {} of {}", static_cast<double>(bias), token,
                              config.vocab);
    constexpr double largest = 100;
    for (const double penalty : {sampling.presence_penalty, sampling.frequency_penalty})
        if (!(std::abs(penalty) <= largest))
            throw usage_error("sampling: a penalty of presence or frequency must be from -100 to 100");
}

void SessionCore::append(std::size_t index, std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    if (config.is_vision()) throw usage_error(described(model.info()) + " takes images: it has no tokens");
    if (!types.empty() && types.size() != ids.size())
        throw usage_error("{} tokens have {} types; one for each is wanted", ids.size(), types.size());
    for (const std::int32_t type : types)
        if (type < 0 || type >= std::max<std::int64_t>(config.token_types, 1))
            throw usage_error("token type {} is none of the {} of {}", type, config.token_types, model.info().name);
    check_ids(ids);
    check_room(sequences[index].tokens.size(), ids.size());
    if (ids.empty()) return;
    runs.changed(index);
    runs.forget_unfinished(index, sequences[index].size());
    sequences[index].append(ids, types);
}

void SessionCore::rewind(std::size_t index, std::int64_t count) {
    SequenceState& s = sequences[index];
    if (count < 0 || count > s.size())
        throw usage_error("a sequence of {} tokens cannot go back to token {}", s.tokens.size(), count);
    if (config.is_vision() && count > 0 && count < context)
        throw usage_error(model.info().name + " takes whole images: it cannot go back into one");
    runs.changed(index);
    replay.reset();
    if (count < s.size()) runs.forget_unfinished(index, count);
    s.truncate(count);
    if (is_encoder()) s.forget_results();
}

void SessionCore::set_source(std::size_t index, std::span<const std::int32_t> ids) {
    if (!is_encoder_decoder())
        throw usage_error(described(model.info()) +
                          " is no encoder–decoder: it has no encoder that reads another text");
    if (config.sees())
        throw usage_error(described(model.info()) + " writes about images and needs one: set_image(), --image");
    if (ids.empty()) throw usage_error("there is nothing to read: the text has no tokens");
    check_ids(ids);
    check_room(0, ids.size());
    begin_answer_to(index, {ids.begin(), ids.end()});
}

void SessionCore::begin_answer_to(std::size_t index, std::vector<std::int32_t> source) {
    SequenceState& s = sequences[index];
    restart(index, s.sampling);
    s.source = std::move(source);
    s.source_waits = true, s.source_again = false;
    const auto start = static_cast<std::int32_t>(config.start_token);
    append(index, std::span(&start, 1), {});
}

void SessionCore::set_image(std::span<const float> pixels) {
    const ImageInput& image = config.image;
    if (!config.sees()) throw usage_error(described(model.info()) + " reads text: it takes no image");
    if (std::ssize(pixels) != image.pixels())
        throw usage_error("an image of {} numbers was given, but {} takes [{}, {}, {}]: {}", pixels.size(),
                          model.info().name, image.channels, image.height, image.width, image.pixels());
    for (const float pixel : pixels)
        if (!std::isfinite(pixel)) throw usage_error("the image has pixels that are not finite");
    runs.changed(0);
    replay.reset();
    runs.set_pixels(pixels);
    if (is_encoder_decoder())
        return begin_answer_to(0, std::vector<std::int32_t>(static_cast<std::size_t>(image.places())));
    SequenceState& s = sequences.front();
    s.forget_results();
    s.tokens.assign(static_cast<std::size_t>(context), 0);
    s.types = s.tokens;
    s.ended = false;
}

void SessionCore::mask_heads(std::span<const HeadId> heads) {
    if (!options.masked_heads)
        throw usage_error("heads can be masked in a session that was made with SessionOptions::masked_heads");
    for (const HeadId& head : heads) check_head(head, "masked");
    runs.settle();
    for (std::size_t i = 0; i < sequences.size(); ++i) runs.changed(i);
    replay.reset();
    const auto in_encoder = [](std::vector<HeadId> all) {
        std::erase_if(all, [](const HeadId& head) { return head.kind != AttentionKind::encoder; });
        return all;
    };
    const std::vector<HeadId> before = std::exchange(*options.masked_heads, {heads.begin(), heads.end()});
    write_head_mask();
    const bool encoder_changed = in_encoder(before) != in_encoder(*options.masked_heads);
    for (SequenceState& s : sequences) {
        s.forget_results();
        s.ended = false;
        if (s.source.empty() || !encoder_changed) continue;
        s.source_waits = true;
        s.forget_source_results();
    }
}

void SessionCore::shift_head(const HeadShift& shift) {
    if (!options.head_shift)
        throw usage_error("heads can be shifted in a session that was made with SessionOptions::head_shift");
    check_head_shift(shift);
    runs.settle();
    replay.reset();
    const HeadShift before = std::exchange(*options.head_shift, shift);
    write_head_shift();
    const auto first = [](const HeadShift& one) {
        return one.values.empty() ? std::numeric_limits<std::int64_t>::max() : one.position;
    };
    const std::int64_t changed = std::min(first(before), first(shift));
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        SequenceState& s = sequences[i];
        if (changed >= s.processed) continue;
        runs.changed(i);
        runs.forget_unfinished(i, changed);
        if (is_encoder())
            s.forget_results();
        else
            s.forget_from(changed);
        s.ended = false;
    }
}

void SessionCore::run() {
    require_source();
    require_global_tokens();
    runs.run_sources();
    runs.run_tokens();
}

void SessionCore::run(std::size_t index) {
    require_source();
    require_global_tokens();
    runs.run_tokens(index);
}

void SessionCore::run_lost() {
    runs.run_sources();
    runs.run_lost();
}

const std::vector<std::optional<std::int32_t>>& SessionCore::next() {
    require_decoder();
    require_source();
    if (std::ranges::all_of(sequences, [](const SequenceState& s) { return s.tokens.empty(); }))
        throw usage_error("there is nothing to continue: the prompt has no tokens");
    const bool any = std::ranges::any_of(sequences, [&](const SequenceState& s) { return runs.can_continue(s); });
    if (any && options.inspect) throw usage_error("a session that inspects does not draw tokens");
    return runs.next();
}

std::vector<float> SessionCore::next_logits(std::size_t index) {
    require_decoder();
    require_source();
    if (sequences[index].tokens.empty()) throw usage_error("there is nothing to continue: the sequence has no tokens");
    return runs.next_logits(index);
}

void SessionCore::check_ids(std::span<const std::int32_t> ids) const {
    for (const std::int32_t id : ids)
        if (id < 0 || id >= config.vocab)
            throw usage_error("token id {} is outside of the vocabulary of {}: 0 … {}", id, model.info().name,
                              config.vocab - 1);
}

void SessionCore::check_room(std::size_t there, std::size_t more) const {
    if (static_cast<std::int64_t>(there + more) > context)
        throw usage_error("{} tokens do not fit the context of {} ({} are there); shorten the prompt{}", more, context,
                          there, context < config.context ? ", or make the context larger" : "");
}

void SessionCore::require_decoder() const {
    if (is_encoder())
        throw usage_error(model.info().name + " is an encoder (" + model.info().architecture +
                          "): it draws no tokens, but inspect, embed and classify take it");
}

void SessionCore::require_source() const {
    if (!is_encoder_decoder()) return;
    for (const SequenceState& s : sequences)
        if (s.source.empty() && (alone || !s.tokens.empty()))
            throw usage_error(
                model.info().name + " is an encoder–decoder (" + model.info().architecture + "): it writes about " +
                (config.sees() ? "an image, which set_image()" : "a text, which set_source()") + " gives it first");
}

void SessionCore::check_head(const HeadId& head, const char* what) const {
    const ModelInfo& info = model.info();
    require_attention(info, format("head {} cannot be {}", name_of(head), what));
    const std::int64_t heads = info.heads_of(head.kind);
    if (heads == 0 && config.recurrent)
        throw usage_error("head {} cannot be {}: {} has no head but x0.0", name_of(head), what, described(info));
    if (heads == 0)
        throw usage_error("head {} cannot be {}: {} is no encoder–decoder: its heads are layer.head", name_of(head),
                          what, described(info));
    if (info.attends(head.layer, head.kind) && head.head >= 0 && head.head < heads) return;
    throw usage_error("head {} cannot be {}: {}{} has {} with heads 0 … {}", name_of(head), what, info.name,
                      head.kind == AttentionKind::encoder ? "'s encoder" : "", attending_text(info, head.kind),
                      heads - 1);
}

void SessionCore::write_head_mask() {
    if (!options.masked_heads) return;
    for (const HeadId& head : *options.masked_heads) check_head(head, "masked");
    states.write_head_mask(graphs, *options.masked_heads);
}

void SessionCore::check_head_shift(const HeadShift& shift) const {
    // HeadShift{} adds nothing: there need not be a head 0.0
    if (shift.values.empty() && shift.head == HeadId{} && shift.position == 0) return;
    check_head(shift.head, "shifted");
    if (shift.head.kind == AttentionKind::encoder)
        throw unsupported_error("head {} cannot be shifted: it belongs to the encoder of {}", name_of(shift.head),
                                model.info().name);
    if (shift.position < 0 || shift.position >= context)
        throw usage_error("a head cannot be shifted at position {}: the context has {} tokens", shift.position,
                          context);
    const std::int64_t wanted = states.head_features(graphs.front(), shift.head);
    if (!shift.values.empty() && std::ssize(shift.values) != wanted)
        throw usage_error("head {} has {} features, but {} values are to be added", name_of(shift.head), wanted,
                          shift.values.size());
    if (!std::ranges::all_of(shift.values, [](float value) { return std::isfinite(value); }))
        throw usage_error("values to be added to head {} are not finite", name_of(shift.head));
}

void SessionCore::write_head_shift() {
    if (!options.head_shift) return;
    check_head_shift(*options.head_shift);
    states.write_head_shift(graphs.front(), *options.head_shift);
}

}  // namespace vantage::internal
