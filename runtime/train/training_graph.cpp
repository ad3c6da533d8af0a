#include "runtime/train/training_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/attention.h"
#include "runtime/train/head_loss.h"
#include "runtime/train/parameter_updates.h"
#include "runtime/train/recompute.h"
#include "vantage/gradient.h"

namespace vantage::internal {

namespace train_names {
std::string gradient(const std::string& parameter) { return "gradient." + parameter; }
std::string mean(const std::string& parameter) { return "mean." + parameter; }
std::string variance(const std::string& parameter) { return "variance." + parameter; }
}  // namespace train_names

namespace {

constexpr float first_loss_scale = 65536;

// The weights of a graph that learn, ascending by name: of a model with adapters only these.
std::vector<Tensor> weights_to_learn(Graph& graph, const ModelConfig& config) {
    std::map<std::string, Tensor> by_name;
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (const Value& value = graph.value(static_cast<int>(id));
            value.kind == ValueKind::weight && (!config.lora || is_adapter(value.name)))
            by_name[value.name] = GraphAccess::tensor(graph, static_cast<int>(id));
    std::vector<Tensor> all;
    for (const auto& [name, weight] : by_name) all.push_back(weight);
    return all;
}

// The forward pass and the loss of a micro-batch.
class LossBuilder {
public:
    /// Where `train` is a state the loss is differentiated, else only evaluated.
    LossBuilder(TrainingStep& step, const ModelConfig& config, const TrainingSettings& settings, Tensor train)
        : step_(step), graph_(step.graph), config_(config), settings_(settings), train_(train) {
        training_.input = [this](const std::string& name, const Shape& shape, DType type) {
            return input(name, shape, type);
        };
        if (train) training_.dropout = settings.dropout, training_.attention_dropout = settings.attention_dropout;
        training_.documents = settings.documents;
        training_.train = train, training_.seed = settings.seed, training_.micro_batches = settings.micro_batches;
        training_.head = [this](Tensor x, const std::function<Tensor(Tensor)>& logits) {
            loss_ = loss_of(x, config_.vocab, logits);
        };
        training_.pair = [this](Tensor texts, Tensor images, Tensor log_scale) {
            loss_ = loss_of_pairs(texts, images, log_scale);
        };
    }

    /// The outputs of heads are multiplied by states (BuildOptions::head_mask).
    void mask_heads() { head_mask_ = true; }
    const std::vector<std::string>& blocks() const { return training_.blocks; }
    Tensor logits() const { return logits_; }  ///< of labels

    Tensor loss() {
        const Tensor of_targets = loss_of_targets();
        return settings_.load_balance > 0 ? add(of_targets, loss_of_experts()) : of_targets;
    }

private:
    // Σ weight · loss over rows, of both parts of an encoder–decoder or of the only one.
    Tensor loss_of_targets() {
        if (config_.kind == ModelKind::encoder_decoder) build_part(true, settings_.source_rows);
        build_part(false, settings_.rows);
        if (loss_) return loss_;
        const auto found = graph_.outputs().find(model_names::logits);
        if (found == graph_.outputs().end())
            throw unsupported_error("{} has no output layer, and so nothing to learn from", config_.architecture);
        const Tensor logits = logits_ = GraphAccess::tensor(graph_, found->second);
        GraphAccess::data(graph_).outputs.erase(found);  // nobody reads them, so their memory is used again
        const std::int64_t classes = logits.shape()[-1], rows = logits.shape().elements() / classes;
        return loss_of(graph_.reshape(logits, {rows, classes}), classes, [](Tensor x) { return x; });
    }
    // As load_balancing_loss_func of transformers: the frequency and mean probability of an expert are over the rows of
    // all layers. A step has the mean of its micro-batches.
    Tensor loss_of_experts() {
        const Routing all = route(joined(training_.routers), config_.experts_per_token, false);
        const auto micro_batches = static_cast<double>(settings_.micro_batches);
        return scaled(scale(load_balance(all), settings_.load_balance / micro_batches));
    }
    Tensor loss_of(Tensor x, std::int64_t classes, const std::function<Tensor(Tensor)>& logits) {
        const std::int64_t rows = x.shape()[0], at_once = head_rows_of(settings_, rows, classes);
        if (settings_.custom_loss) return custom_loss(logits(x), rows);
        const HeadLoss head{.x = x,
                            .logits = logits,
                            .targets = input(train_names::targets, {rows}, DType::i32),
                            .weights = scaled(input(train_names::loss_weights, {rows}, DType::f32)),
                            .options = settings_.loss,
                            .weights_to_learn = [this] { return weights_to_learn(graph_, config_); }};
        if (at_once >= rows) return head_loss(graph_, head);
        return head_loss_in_pieces(graph_, head, at_once, static_cast<bool>(train_));
    }
    // TrainOptions::loss. It is scaled as a whole, so that it may be made without the rows' weights.
    Tensor custom_loss(Tensor logits, std::int64_t rows) {
        const Tensor targets = input(train_names::targets, {rows}, DType::i32),
                     weights = input(train_names::loss_weights, {rows}, DType::f32),
                     all = graph_.reshape(logits, {rows, logits.shape().elements() / rows});
        const auto given = [this] {
            return std::ranges::count_if(graph_.values(), [](const Value& value) {
                return value.kind == ValueKind::input || value.kind == ValueKind::weight ||
                       value.kind == ValueKind::state;
            });
        };
        const auto before = given(), outputs = std::ssize(graph_.outputs());
        const Tensor loss = settings_.custom_loss({.logits = all,
                                                   .targets = targets,
                                                   .cross_entropy = cross_entropy(all, targets, settings_.loss).loss,
                                                   .weights = weights,
                                                   .sequences = settings_.sequences});
        if (given() != before || std::ssize(graph_.outputs()) != outputs)
            throw usage_error(
                "TrainOptions::loss: it added an input, a weight, a state or an output, which has no use");
        if (!loss || loss.dtype() != DType::f32 || loss.shape().elements() != 1)
            throw usage_error("TrainOptions::loss: it made {}, but a loss is f32 [1]",
                              loss ? loss.type().text() : "none");
        return scaled(graph_.reshape(loss, {1}));
    }
    // Of the pairs of a micro-batch: the negatives of a text are the other images, those of an image the other texts.
    // The logit scale is exp(s) up to 100 and its tangent above, 100 (elu(s - ln 100) + 1); Radford et al. 2021 clip it.
    Tensor loss_of_pairs(Tensor texts, Tensor images, Tensor log_scale) {
        constexpr float largest = 100;
        const auto number = [&](const char* name, float x) {
            return graph_.constant(name, {1}, std::vector<float>{x});
        };
        const Tensor below = add(log_scale, number("minus the largest logarithm", -std::log(largest))),
                     scale = mul(add(elu(below), number("one", 1)), number("the largest factor", largest));
        const std::int64_t pairs = texts.shape()[0];
        return contrastive_loss(texts, images,
                                {.scale = scale,
                                 .targets = input(train_names::targets, {pairs}, DType::i32),
                                 .weights = scaled(input(train_names::loss_weights, {pairs}, DType::f32))});
    }
    // Times the loss scale.
    Tensor scaled(Tensor x) {
        if (!train_ || !settings_.f16) return x;
        return mul(x, columns(graph_.reshape(train_, {1, TRAIN_WORDS}), TRAIN_SCALE, 1));
    }
    void build_part(bool encoder, std::int64_t rows) {
        build_into(graph_, config_,
                   {.rows = rows,
                    .sequences = settings_.sequences,
                    .context = rows,
                    .encoder = encoder,
                    .head_mask = head_mask_,
                    .training = &training_});
    }
    Tensor input(const std::string& name, const Shape& shape, DType type) {
        if (settings_.slots == 0) return noted(graph_.input(name, shape, type));
        std::vector<std::int64_t> sizes{settings_.slots};
        sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
        return fetch(noted(graph_.state(name, Shape(sizes), type, true)), train_, settings_.micro_batches,
                     SourceLocation::here());
    }
    Tensor noted(Tensor written) {
        step_.inputs.push_back(graph_.value(written.id()));
        return written;
    }

    TrainingStep& step_;
    Graph& graph_;
    const ModelConfig& config_;
    const TrainingSettings& settings_;
    Tensor train_, loss_, logits_;
    TrainingGraph training_;
    bool head_mask_ = false;
};

// Attention without a softmax has no weights to drop.
void require_dropped_attention(const Graph& graph, const ModelConfig& config) {
    const auto drops = [](const Node& node) {
        return node.op == &attention_op && at(node.inputs, ops::attention::dropout_) >= 0;
    };
    if (std::ranges::none_of(graph.nodes(), drops))
        throw unsupported_error("attention dropout: {} has no attention with a softmax", config.architecture);
}

// The sum of the squares of all gradients; those of each block are recorded for the log.
Tensor sum_by_blocks(TrainingStep& step, const std::vector<Tensor>& sums, Tensor train, SourceLocation where) {
    std::map<std::tuple<std::string, std::size_t, std::string>, std::vector<Tensor>> blocks;
    for (std::size_t i = 0; i < sums.size(); ++i) {  // by name, and then by number: the shorter ones are smaller
        const std::string block = block_of(step.parameters[i].name);
        blocks[{block.substr(0, block.find_last_not_of("0123456789") + 1), block.size(), block}].push_back(sums[i]);
    }
    std::vector<Tensor> squares;
    for (const auto& [block, some] : blocks) {
        step.blocks.push_back(std::get<2>(block));
        const Graph::Scope scope = block_scope(step.graph, step.blocks.back());
        squares.push_back(sum_squares(some, where));
    }
    const Tensor norms = step.graph.state(train_names::norms, {TRAIN_HISTORY, std::ssize(squares)}, DType::f32, true);
    static_cast<void>(record_norms(norms, train, squares, where));
    return sum_of(std::move(squares), where);
}

}  // namespace

std::int64_t source_rows_of(const ModelConfig& config, std::int64_t rows) {
    if (config.kind != ModelKind::encoder_decoder) return 0;
    return config.sees() ? config.image.places() : rows;
}

std::string block_of(const std::string& parameter) {
    for (std::size_t dot = parameter.find('.'); dot != std::string::npos; dot = parameter.find('.', dot + 1)) {
        const std::size_t end = std::min(parameter.find_first_not_of("0123456789", dot + 1), parameter.size());
        if (end > dot + 1 && (end == parameter.size() || parameter[end] == '.')) return parameter.substr(0, end);
    }
    return "";
}

std::vector<float> first_train_words(const TrainingSettings& settings) {
    std::vector<float> words(TRAIN_WORDS);
    words[TRAIN_SCALE] = settings.loss_scale > 0 ? static_cast<float>(settings.loss_scale)
                         : settings.f16          ? first_loss_scale
                                                 : 1;
    return words;
}

std::int64_t head_rows_of(const TrainingSettings& settings, std::int64_t rows, std::int64_t classes) {
    constexpr std::int64_t logits_bytes = std::int64_t{64} << 20, min_rows = 256,
                           max_pieces = 128;  // planning takes time for each
    const std::int64_t fitting = logits_bytes / (4 * std::max<std::int64_t>(classes, 1));
    if (settings.head_rows > 0) return std::min(rows, settings.head_rows);
    const auto whole = [](std::int64_t count) { return count / min_rows * min_rows; };  // products along whole tiles
    return std::min(rows, std::max({min_rows, whole(fitting), whole((rows - 1) / max_pieces) + min_rows}));
}

TrainingStep build_training_step(const ModelConfig& config, const TrainingSettings& settings,
                                 Graph::WeightTypes types) {
    if (settings.sequences > INT32_MAX / std::max({settings.rows, settings.source_rows, std::int64_t{1}}))
        throw usage_error("training: a micro-batch of {} sequences of {} tokens, but it can have {} tokens at most",
                          settings.sequences, std::max(settings.rows, settings.source_rows), INT32_MAX);
    const SourceLocation where = SourceLocation::here();
    TrainingStep step{.graph = Graph(std::move(types))};
    Graph& graph = step.graph;
    TrainState state = train_state(graph, where);
    LossBuilder builder(step, config, settings, state.train);
    const Tensor loss = builder.loss();
    if (settings.attention_dropout > 0) require_dropped_attention(graph, config);
    if (config.lora) transpose_weights(graph);  // before the backward pass uses them the other way
    const std::size_t forward = graph.nodes().size();
    const std::vector<Tensor> weights = weights_to_learn(graph, config), made = gradients(loss, weights);
    std::vector<Tensor> parameters, sums;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!made[i]) continue;  // of another head than the one that learns: it stays a weight
        const Value& value = as_state(graph, weights[i]);
        const Graph::Scope scope = block_scope(graph, block_of(value.name));
        const Tensor sum = graph.state(train_names::gradient(value.name), value.type.shape, DType::f32);
        sums.push_back(accumulate(sum, made[i], state.train, where));
        parameters.push_back(weights[i]);
        step.parameters.push_back(value);
    }
    if (parameters.empty()) throw usage_error("training: the loss does not depend on a weight that learns");
    if (settings.f16) allow_f16_products(graph);
    recompute(graph, forward, builder.blocks(),
              {.blocks = std::max<std::int64_t>(settings.recompute - 1, 0), .cheap = settings.recompute > 0});
    step.max_recompute = 1 + std::ssize(builder.blocks());
    state.train = count_loss(state.train, loss, where);
    graph.output(train_names::loss, loss);

    step.update = static_cast<int>(graph.segments().size());
    for (int segment = 0; segment < step.update; ++segment) step.micro_batch.push_back(segment);
    graph.segment("update");
    update_parameters(parameters, sums, sum_by_blocks(step, sums, state.train, where), state, settings, where);
    return step;
}

std::vector<StepPhase> phases_of(const Graph& graph) {
    const int update = static_cast<int>(graph.segments().size()) - 1;
    std::vector<bool> needed(graph.values().size(), false);
    const auto need = [&](int id) {
        for (; id >= 0; id = graph.value(id).alias) at(needed, id) = true;
    };
    need(graph.outputs().at(train_names::loss));
    std::vector<StepPhase> phases(graph.nodes().size(), StepPhase::backward);
    for (std::size_t i = phases.size(); i-- > 0;) {
        const Node& node = graph.nodes()[i];
        if (node.segment == update) {
            phases[i] = StepPhase::update;
        } else if (std::ranges::any_of(node.outputs, [&](int id) { return static_cast<bool>(at(needed, id)); })) {
            phases[i] = StepPhase::forward;
            std::ranges::for_each(node.inputs, need);
        }
    }
    return phases;
}

TrainingStep build_evaluation(const ModelConfig& config, const TrainingSettings& settings, Graph::WeightTypes types) {
    TrainingStep step{.graph = Graph(std::move(types))};
    TrainingSettings alone = settings;
    alone.slots = 0, alone.loss = {}, alone.custom_loss = {}, alone.load_balance = 0;
    LossBuilder builder(step, config, alone, {});
    step.graph.output(train_names::loss, builder.loss());
    if (config.head == Head::classification) step.graph.output(model_names::logits, builder.logits());
    if (config.lora) return step;
    for (const Tensor& weight : weights_to_learn(step.graph, config))
        step.parameters.push_back(as_state(step.graph, weight));
    return step;
}

TrainingStep build_head_gradients(const ModelConfig& config, const TrainingSettings& settings,
                                  Graph::WeightTypes types) {
    TrainingStep step{.graph = Graph(std::move(types))};
    Graph& graph = step.graph;
    LossBuilder builder(step, config, settings, {});
    builder.mask_heads();
    const Tensor loss = builder.loss();
    transpose_weights(graph);
    std::vector<Tensor> masks;
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (graph.value(static_cast<int>(id)).name.starts_with(model_names::head_masks))
            masks.push_back(GraphAccess::tensor(graph, static_cast<int>(id)));
    const std::vector<Tensor> made = gradients(loss, masks);
    graph.output(train_names::loss, loss);
    for (std::size_t i = 0; i < masks.size(); ++i)
        if (made[i]) graph.output(train_names::gradient(graph.value(masks[i].id()).name), made[i]);
    return step;
}

}  // namespace vantage::internal
