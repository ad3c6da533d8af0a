#include "runtime/train/parameter_updates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/graph/graph_data.h"
#include "runtime/ops/optimizer.h"

namespace vantage {

namespace {
constexpr std::array optimizer_names = {"adamw", "adam", "sgd"};
}  // namespace

namespace internal {

namespace {

void update_parameter(Tensor parameter, Tensor gradient, Tensor train, const TrainingSettings& settings,
                      SourceLocation where) {
    Graph graph = parameter.graph();
    const std::string name = graph.value(parameter.id()).name;
    const Graph::Scope scope = block_scope(graph, block_of(name));
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

Graph::Scope block_scope(const Graph& graph, const std::string& block) {
    return {graph, block.empty() ? block : block + "."};
}

const Value& as_state(Graph& graph, const Tensor& weight) {
    Value& value = at(mutable_values(graph), weight.id());
    value.kind = ValueKind::state;
    return value;
}

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

void update_parameters(std::span<const Tensor> parameters, std::span<const Tensor> gradients, Tensor squares,
                       const TrainState& state, const TrainingSettings& settings, SourceLocation where) {
    Graph graph = state.train.graph();
    const Tensor rates = graph.constant("rates", {std::ssize(settings.rates)}, settings.rates);
    const std::vector<float> factors = bias_corrections(settings.adam.beta1, settings.adam.beta2);
    const Tensor corrections = graph.constant("corrections", {2, std::ssize(factors) / 2}, factors);
    UpdateOptions options = settings.update;
    if (settings.f16 && settings.loss_scale == 0) options.max_scale = max_loss_scale;
    const Tensor train = begin_update(state, squares, rates, corrections, options, where).train;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        update_parameter(parameters[i], gradients[i], train, settings, where);
}

void set_optimizer(TrainingSettings& settings, const OptimizerOptions& o) {
    const auto require_below = [](const char* name, double value, double end) {
        if (!(value >= 0 && value < end))
            throw usage_error("training: {} is {:g}, but must be from 0 to below {:g}", name, value, end);
    };
    if (static_cast<std::size_t>(o.optimizer) >= optimizer_names.size())
        throw usage_error("training: optimizer is {}, which is none of adamw, adam, sgd",
                          static_cast<int>(o.optimizer));
    require_below("momentum", o.momentum, 1), require_below("eps", o.eps, 1);
    require_below("weight_decay", o.weight_decay, 1e6), require_below("max_norm", o.max_norm, 1e30);
    if (o.max_norm > 0 && o.max_norm < 1e-30)
        throw usage_error("training: max_norm is {:g}, but must be 0 or from 1e-30 to 1e30", o.max_norm);
    if (o.optimizer != Optimizer::sgd && (o.momentum > 0 || o.nesterov))
        throw usage_error("training: momentum is of sgd, not of {}", name_of(o.optimizer));
    settings.optimizer = o.optimizer, settings.weight_decay = o.weight_decay;
    settings.adam = {.beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps};
    settings.sgd = {.momentum = o.momentum, .nesterov = o.nesterov};
    settings.update.max_norm = o.max_norm;
}

}  // namespace internal

using namespace internal;

namespace {

void require_updatable(Tensor parameter, Tensor first, Tensor gradient, std::size_t number) {
    if (!parameter) throw usage_error("update: parameter {} is an empty tensor", number);
    const Graph graph = first.graph();
    if (!parameter.is_of(graph) || (gradient && !gradient.is_of(graph)))
        throw usage_error("update: parameter {} or its gradient belongs to another graph", number);
    const Value& value = graph.value(parameter.id());
    if (value.kind != ValueKind::weight && value.kind != ValueKind::state)
        throw usage_error("update: parameter {} is neither a weight nor a state", number);
    if (parameter.dtype() != DType::f32) throw usage_error("update: {} is not f32", value.name);
    if (gradient && gradient.type() != parameter.type())
        throw usage_error("update: {} is {}, but its gradient {}", value.name, parameter.type().text(),
                          gradient.type().text());
}

}  // namespace

const char* name_of(Optimizer optimizer) { return at(optimizer_names, optimizer); }
Optimizer optimizer_named(const std::string& name) {
    const auto found = std::ranges::find(optimizer_names, name);
    if (found == optimizer_names.end()) throw usage_error("optimizer {} is none of adamw, adam, sgd", name);
    return static_cast<Optimizer>(found - optimizer_names.begin());
}

Updates update(std::span<const Tensor> parameters, std::span<const Tensor> gradients, const std::vector<float>& rates,
               const OptimizerOptions& options, SourceLocation where) {
    if (parameters.empty() || parameters.size() != gradients.size())
        throw usage_error("update: {} parameters and {} gradients", parameters.size(), gradients.size());
    if (rates.empty() || !std::ranges::all_of(rates, [](float rate) { return rate >= 0 && std::isfinite(rate); }))
        throw usage_error("update: rates must be finite numbers from 0, at least one");
    TrainingSettings settings;
    settings.rates = rates;
    set_optimizer(settings, options);
    for (std::size_t i = 0; i < parameters.size(); ++i)
        require_updatable(parameters[i], parameters[0], gradients[i], i);
    Graph graph = parameters.front().graph();
    std::vector<Tensor> learned, slopes;
    Updates updates;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!gradients[i]) continue;
        const std::string name = as_state(graph, parameters[i]).name;
        learned.push_back(parameters[i]), slopes.push_back(gradients[i]);
        if (options.optimizer != Optimizer::sgd || options.momentum > 0)
            updates.moments_.push_back(train_names::mean(name));
        if (options.optimizer != Optimizer::sgd) updates.moments_.push_back(train_names::variance(name));
    }
    if (learned.empty()) throw usage_error("update: all gradients are empty: the loss does not depend on a parameter");
    const TrainState state = train_state(graph, where);
    update_parameters(learned, slopes, sum_squares(slopes, where), state, settings, where);
    return updates;
}

void Updates::begin(Plan& plan) const {
    for (const std::string& moment : moments_) plan.fill(moment, 0);
    plan.write(train_names::train, first_train_words({}));
    plan.fill(train_names::history, 0);
}

}  // namespace vantage
