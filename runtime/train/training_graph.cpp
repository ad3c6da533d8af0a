#include "runtime/train/training_graph.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/graph/graph_data.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "vantage/gradient.h"

namespace vantage::internal {

namespace train_names {
std::string gradient(const std::string& parameter) { return "gradient." + parameter; }
std::string mean(const std::string& parameter) { return "mean." + parameter; }
std::string variance(const std::string& parameter) { return "variance." + parameter; }
}  // namespace train_names

namespace {

// The forward pass and the loss of a micro-batch.
class LossBuilder {
public:
    LossBuilder(Graph& graph, const ModelConfig& config, const TrainingSettings& settings, Tensor train)
        : graph_(graph), config_(config), settings_(settings), train_(train) {
        if (settings.slots > 0)
            training_.input = [this](const std::string& name, const Shape& shape, DType type) {
                return from_slot(name, shape, type);
            };
    }

    // Σ weight · loss over rows.
    Tensor loss() {
        const Tensor logits = this->logits();
        const std::int64_t rows = logits.shape().elements() / logits.shape()[-1];
        const Tensor targets = input(train_names::targets, {rows}, DType::i32),
                     weights = input(train_names::loss_weights, {rows}, DType::f32);
        const CrossEntropy each =
            cross_entropy(graph_.reshape(logits, {rows, logits.shape()[-1]}), targets, settings_.loss);
        const Tensor sum = matmul(graph_.reshape(each.loss, {1, rows}), graph_.reshape(weights, {rows, 1}));
        return graph_.reshape(sum, {1});
    }

private:
    // Of both parts of an encoder–decoder, or of the only one, for all rows.
    Tensor logits() {
        if (config_.kind == ModelKind::encoder_decoder) build_part(true, settings_.source_rows);
        build_part(false, settings_.rows);
        const auto found = graph_.outputs().find(model_names::logits);
        if (found == graph_.outputs().end())
            throw unsupported_error("{} has no output layer, and so nothing to learn from", config_.architecture);
        const Tensor logits = GraphAccess::tensor(graph_, found->second);
        GraphAccess::data(graph_).outputs.erase(found);  // nobody reads them, so their memory is used again
        return logits;
    }
    void build_part(bool encoder, std::int64_t rows) {
        build_into(graph_, config_,
                   {.rows = rows,
                    .sequences = settings_.sequences,
                    .context = rows,
                    .encoder = encoder,
                    .training = &training_});
    }
    Tensor input(const std::string& name, const Shape& shape, DType type) {
        return training_.input ? training_.input(name, shape, type) : graph_.input(name, shape, type);
    }
    Tensor from_slot(const std::string& name, const Shape& shape, DType type) {
        std::vector<std::int64_t> sizes{settings_.slots};
        sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
        const Tensor slots = graph_.state(name, Shape(sizes), type, true);
        return fetch(slots, train_, settings_.micro_batches, SourceLocation::here());
    }

    Graph& graph_;
    const ModelConfig& config_;
    const TrainingSettings& settings_;
    Tensor train_;
    TrainingGraph training_;
};

std::vector<Tensor> weights_of(Graph& graph) {
    std::map<std::string, Tensor> by_name;
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (const Value& value = graph.value(static_cast<int>(id)); value.kind == ValueKind::weight)
            by_name[value.name] = GraphAccess::tensor(graph, static_cast<int>(id));
    std::vector<Tensor> all;
    for (const auto& [name, weight] : by_name) all.push_back(weight);
    return all;
}

// A weight that updates change.
const Value& as_state(Graph& graph, const Tensor& weight) {
    Value& value = at(mutable_values(graph), weight.id());
    value.kind = ValueKind::state;
    return value;
}

void update_parameter(Graph& graph, Tensor parameter, Tensor gradient, Tensor train, const TrainingSettings& settings) {
    const SourceLocation where = SourceLocation::here();
    const std::string name = graph.value(parameter.id()).name;
    const double decay = parameter.shape().rank() >= 2 ? settings.weight_decay : 0;
    const auto state = [&](const std::string& of) { return graph.state(of, parameter.shape(), DType::f32); };
    if (settings.optimizer == Optimizer::sgd) {
        SgdOptions options = settings.sgd;
        options.weight_decay = decay;
        sgd({parameter, options.momentum > 0 ? state(train_names::mean(name)) : Tensor()}, gradient, train, options,
            where);
        return;
    }
    AdamOptions options = settings.adam;
    options.weight_decay = decay, options.decoupled = settings.optimizer == Optimizer::adamw;
    adam({parameter, state(train_names::mean(name)), state(train_names::variance(name))}, gradient, train, options,
         where);
}

}  // namespace

std::vector<float> bias_corrections(double beta1, double beta2) {
    for (const double beta : {beta1, beta2})
        if (!(beta >= 0 && beta <= max_beta))
            throw usage_error("Adam: beta1 {:g} and beta2 {:g} must be from 0 to {:g}", beta1, beta2, max_beta);
    std::vector<float> of_mean, of_variance;
    double power1 = 1, power2 = 1;
    do {
        power1 *= beta1, power2 *= beta2;
        of_mean.push_back(static_cast<float>(1 / (1 - power1)));
        of_variance.push_back(static_cast<float>(1 / (1 - power2)));
    } while (of_mean.back() != 1 || of_variance.back() != 1);
    of_mean.insert(of_mean.end(), of_variance.begin(), of_variance.end());
    return of_mean;
}

TrainingStep build_training_step(const ModelConfig& config, const TrainingSettings& settings) {
    const SourceLocation where = SourceLocation::here();
    TrainingStep step;
    Graph& graph = step.graph;
    TrainState state = train_state(graph, where);
    const Tensor loss = LossBuilder(graph, config, settings, state.train).loss();
    const std::vector<Tensor> weights = weights_of(graph), made = gradients(loss, weights);
    std::vector<Tensor> parameters, sums;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!made[i]) continue;  // of another head than the one that learns: it stays a weight
        const Value& value = as_state(graph, weights[i]);
        const Tensor sum = graph.state(train_names::gradient(value.name), value.type.shape, DType::f32);
        sums.push_back(accumulate(sum, made[i], state.train, where));
        parameters.push_back(weights[i]);
        step.parameters.push_back(value);
    }
    state.train = count_loss(state.train, loss, where);
    graph.output(train_names::loss, loss);

    graph.segment("update");
    const Tensor rates = graph.constant("rates", {std::ssize(settings.rates)}, settings.rates);
    const std::vector<float> factors = bias_corrections(settings.adam.beta1, settings.adam.beta2);
    const Tensor corrections = graph.constant("corrections", {2, std::ssize(factors) / 2}, factors);
    state = begin_update(state, sum_squares(sums, where), rates, corrections, settings.update, where);
    for (std::size_t i = 0; i < parameters.size(); ++i)
        update_parameter(graph, parameters[i], sums[i], state.train, settings);
    return step;
}

TrainingStep build_evaluation(const ModelConfig& config, const TrainingSettings& settings) {
    TrainingStep step;
    TrainingSettings alone = settings;
    alone.slots = 0, alone.loss = {};
    step.graph.output(train_names::loss, LossBuilder(step.graph, config, alone, {}).loss());
    for (const Tensor& weight : weights_of(step.graph)) step.parameters.push_back(as_state(step.graph, weight));
    return step;
}

}  // namespace vantage::internal
