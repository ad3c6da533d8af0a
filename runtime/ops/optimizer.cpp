// Updates of parameters, by the numbers of begin_update: g = factor · gradient.
//   adam: m = β₁ m + (1 - β₁) g, v = β₂ v + (1 - β₂) g², x -= rate m c₁ / (√(v c₂) + ε), cᵢ = 1 / (1 - βᵢᵗ)
//     (Kingma, Ba 2015); decoupled: before that x *= 1 - rate · decay (AdamW, Loshchilov, Hutter 2019), else g += decay x
//   sgd: g += decay x, u = momentum u + (1 - dampening) g, u = g in the first update, x -= rate u; with nesterov
//     rate (g + momentum u) (Sutskever et al. 2013)
// A skipped step changes nothing.
#include "runtime/ops/optimizer.h"

#include <cmath>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/train.h"

namespace vantage::internal {

namespace {

void require_like(const OpCall& call, int i, const TensorType& type) {
    static_cast<void>(call.in(i));
    require_type(call, i, type);
}
void check_numbers(const OpCall& call, std::initializer_list<std::pair<const char*, double>> below) {
    for (const auto& [name, end] : below)
        call.require(call.attrs.number(name) >= 0 && call.attrs.number(name) < end,
                     format("{} is {:g}, but must be from 0 to below {:g}", name, call.attrs.number(name), end));
}
Case::Input state_of_update(bool skip, double updates) {
    std::vector<double> words(TRAIN_WORDS);
    words[TRAIN_RATE] = 0.01, words[TRAIN_MEAN_FACTOR] = 5, words[TRAIN_VARIANCE_FACTOR] = 20;
    words[TRAIN_GRADIENT_FACTOR] = 0.5, words[TRAIN_SKIP] = skip ? 1 : 0, words[TRAIN_UPDATES] = updates;
    Case::Input input = filled_with(TensorType{Shape{TRAIN_WORDS}}, words);
    input.fixed_type = true;
    return input;
}
Case::Input parameter_input(const Shape& shape, Case::Fill fill = Case::Fill::normal) {
    return {.type = TensorType{shape}, .fill = fill, .fixed_type = true};
}

}  // namespace

namespace ops::adam {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    call.require(x.dtype == DType::f32, operand_is(call, x_) + ", but must be f32");
    for (const int i : {mean_, variance_, gradient_}) require_like(call, i, x);
    require_like(call, train_, {Shape{TRAIN_WORDS}, DType::f32});
    check_numbers(call, {{"beta1", 1}, {"beta2", 1}, {"eps", 1}, {"weight_decay", 1e6}});
    return {x, x, x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const HostTensor& train = in[train_];
    if (train[TRAIN_SKIP] != 0) return;
    const double beta1 = call.attrs.number("beta1"), beta2 = call.attrs.number("beta2"),
                 decay = call.attrs.number("weight_decay"), rate = train[TRAIN_RATE];
    const bool decoupled = call.attrs.flag("decoupled", true);
    for (std::size_t i = 0; i < in[x_].data.size(); ++i) {
        const double x = in[x_].data[i],
                     g = in[gradient_].data[i] * train[TRAIN_GRADIENT_FACTOR] + (decoupled ? 0 : decay * x),
                     mean = beta1 * in[mean_].data[i] + (1 - beta1) * g,
                     variance = beta2 * in[variance_].data[i] + (1 - beta2) * g * g;
        out[mean_].data[i] = mean, out[variance_].data[i] = variance;
        out[x_].data[i] = x * (decoupled ? 1 - rate * decay : 1) -
                          rate * mean * train[TRAIN_MEAN_FACTOR] /
                              (std::sqrt(variance * train[TRAIN_VARIANCE_FACTOR]) + call.attrs.number("eps"));
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 14.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const std::int64_t count = call.in(x_).shape.elements();
    Launch l{.shader = "adam",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(x_), in(mean_), in(variance_), in(gradient_), in(train_), update(0), update(1), update(2)},
             .groups = element_grid(count, 4, caps)};
    const auto number = [&](const char* name) { return static_cast<float>(call.attrs.number(name)); };
    return l.with(params::AdamParams{.count = u32(count),
                                     .beta1 = number("beta1"),
                                     .beta2 = number("beta2"),
                                     .eps = number("eps"),
                                     .decay = number("weight_decay"),
                                     .decoupled = call.attrs.flag("decoupled", true)});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& shape, bool decoupled, double decay, bool skip) {
        return Case{
            .name = name,
            .attrs =
                {{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-6}, {"weight_decay", decay}, {"decoupled", decoupled}},
            .inputs = {parameter_input(shape), parameter_input(shape), parameter_input(shape, Case::Fill::uniform),
                       parameter_input(shape), state_of_update(skip, 3)}};
    };
    return {of("adamw of 5x33", {5, 33}, true, 0.1, false), of("adam of 64x40", {64, 40}, false, 0.1, false),
            of("one", {1}, true, 0, false), of("skipped", {5, 33}, true, 0.1, true),
            of("empty", {0, 4}, true, 0, false)};
}

}  // namespace
const OpDef adam_op =
    define_op("adam", "x -= rate m c1 / (sqrt(v c2) + eps) (Kingma, Ba 2015; Loshchilov, Hutter 2019)", operand_names,
              infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient,
              {.alias = {x_, mean_, variance_}});
}  // namespace ops::adam

namespace ops::sgd {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    call.require(x.dtype == DType::f32, operand_is(call, x_) + ", but must be f32");
    require_like(call, gradient_, x);
    require_type(call, velocity_, x);
    require_like(call, train_, {Shape{TRAIN_WORDS}, DType::f32});
    check_numbers(call, {{"momentum", 1}, {"dampening", 1 + 1e-9}, {"weight_decay", 1e6}});
    call.require((call.attrs.number("momentum") > 0) == call.has(velocity_), "velocity and momentum go together");
    return call.has(velocity_) ? std::vector{x, x} : std::vector{x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const HostTensor& train = in[train_];
    if (train[TRAIN_SKIP] != 0) return;
    const double momentum = call.attrs.number("momentum"), dampening = call.attrs.number("dampening");
    for (std::size_t i = 0; i < in[x_].data.size(); ++i) {
        const double x = in[x_].data[i],
                     g = in[gradient_].data[i] * train[TRAIN_GRADIENT_FACTOR] + call.attrs.number("weight_decay") * x;
        double step = g;
        if (momentum > 0) {
            const double u = train[TRAIN_UPDATES] <= 1 ? g : momentum * in[velocity_].data[i] + (1 - dampening) * g;
            out[velocity_].data[i] = u;
            step = call.attrs.flag("nesterov") ? g + momentum * u : u;
        }
        out[x_].data[i] = x - train[TRAIN_RATE] * step;
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 8.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const std::int64_t count = call.in(x_).shape.elements();
    Launch l{.shader = "sgd",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(x_), in(velocity_), in(gradient_), in(train_), update(0),
                          call.has(velocity_) ? update(1) : no_operand},
             .groups = element_grid(count, 4, caps)};
    const auto number = [&](const char* name) { return static_cast<float>(call.attrs.number(name)); };
    return l.with(params::SgdParams{.count = u32(count),
                                    .momentum = number("momentum"),
                                    .dampening = number("dampening"),
                                    .decay = number("weight_decay"),
                                    .nesterov = call.attrs.flag("nesterov")});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Attrs& attrs, double updates) {
        const Shape shape{5, 33};
        Case c{.name = name,
               .attrs = attrs,
               .inputs = {parameter_input(shape), {}, parameter_input(shape), state_of_update(false, updates)}};
        if (attrs.number("momentum") > 0) c.inputs[velocity_] = parameter_input(shape);
        return c;
    };
    return {of("plain", {{"weight_decay", 0.1}}, 3), of("momentum", {{"momentum", 0.9}, {"dampening", 0.2}}, 3),
            of("nesterov", {{"momentum", 0.9}, {"nesterov", true}}, 3),
            of("the first update", {{"momentum", 0.9}, {"dampening", 0.5}}, 1)};
}

}  // namespace
const OpDef sgd_op = define_op("sgd", "x -= rate u, u = momentum u + (1 - dampening) g (Sutskever et al. 2013)",
                               operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}},
                               cases, of_a_gradient, {.alias = {x_, velocity_}});
}  // namespace ops::sgd

AdamState adam(const AdamState& state, Tensor gradient, Tensor train, const AdamOptions& options,
               SourceLocation where) {
    const std::vector<Tensor> next =
        add_call(state.x.graph(), adam_op, {state.x, state.mean, state.variance, gradient, train},
                 {{"beta1", options.beta1},
                  {"beta2", options.beta2},
                  {"eps", options.eps},
                  {"weight_decay", options.weight_decay},
                  {"decoupled", options.decoupled}},
                 where);
    return {next[0], next[1], next[2]};
}

SgdState sgd(const SgdState& state, Tensor gradient, Tensor train, const SgdOptions& options, SourceLocation where) {
    const std::vector<Tensor> next = add_call(state.x.graph(), sgd_op, {state.x, state.velocity, gradient, train},
                                              {{"momentum", options.momentum},
                                               {"dampening", options.dampening},
                                               {"weight_decay", options.weight_decay},
                                               {"nesterov", options.nesterov}},
                                              where);
    return {next[0], next.size() > 1 ? next[1] : Tensor()};
}

}  // namespace vantage::internal
