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

// Builds the forward pass of both parts of an encoder–decoder, or of the only one, and returns the logits of all rows.
Tensor build_logits(Graph& graph, const ModelConfig& config, const TrainingSettings& settings) {
    TrainingGraph training;
    const auto part = [&](bool encoder, std::int64_t rows) {
        build_into(graph, config,
                   {.rows = rows,
                    .sequences = settings.sequences,
                    .context = rows,
                    .encoder = encoder,
                    .training = &training});
    };
    if (config.kind == ModelKind::encoder_decoder) part(true, settings.source_rows);
    part(false, settings.rows);
    const auto found = graph.outputs().find(model_names::logits);
    if (found == graph.outputs().end())
        throw unsupported_error("{} has no output layer, and so nothing to learn from", config.architecture);
    return GraphAccess::tensor(graph, found->second);
}

std::vector<Tensor> weights_of(Graph& graph) {
    std::map<std::string, Tensor> by_name;
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (const Value& value = graph.value(static_cast<int>(id)); value.kind == ValueKind::weight)
            by_name[value.name] = GraphAccess::tensor(graph, static_cast<int>(id));
    std::vector<Tensor> all;
    for (const auto& [name, weight] : by_name) all.push_back(weight);
    return all;
}

// The loss of a micro-batch: Σ weight · loss over rows.
Tensor weighted_loss(Graph& graph, Tensor logits, const TrainingSettings& settings) {
    const std::int64_t rows = logits.shape().elements() / logits.shape()[-1];
    const Tensor targets = graph.input(train_names::targets, {rows}, DType::i32),
                 weights = graph.input(train_names::loss_weights, {rows});
    const CrossEntropy each = cross_entropy(graph.reshape(logits, {rows, logits.shape()[-1]}), targets, settings.loss);
    const Tensor sum = matmul(graph.reshape(each.loss, {1, rows}), graph.reshape(weights, {rows, 1}));
    return graph.reshape(sum, {1});
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
    const Tensor logits = build_logits(graph, config, settings), loss = weighted_loss(graph, logits, settings);
    TrainState state = train_state(graph, where);
    const std::vector<Tensor> weights = weights_of(graph), made = gradients(loss, weights);
    std::vector<Tensor> parameters, sums;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!made[i]) continue;  // of another head than the one that learns: it stays a weight
        Value& value = at(mutable_values(graph), weights[i].id());
        value.kind = ValueKind::state;  // which updates change
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

}  // namespace vantage::internal
