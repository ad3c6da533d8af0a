// Entropy of every row of probabilities, in nats: how spread out a head's attention is.
//   h = -Σ p ln p, 0 ln 0 = 0; exp(h) is the number of tokens that a row effectively looks at
// Shannon, "A Mathematical Theory of Communication" (1948).
#include "runtime/ops/entropy.h"

#include <cmath>

#include "runtime/ops/checks.h"
#include "shaders/params/entropy.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::entropy {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const Shape& p = call.in(p_).shape;
    call.require(p.rank() >= 1, operand_is(call, p_) + ", but must have rows");
    return {{Shape(p.sizes().first(static_cast<std::size_t>(p.rank() - 1))), DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(p_).shape[-1];
    for (std::size_t i = 0; i < in[p_].data.size(); ++i)
        if (const double p = in[p_].data[i]; p > 0) out[0][static_cast<std::int64_t>(i) / cols] -= p * std::log(p);
}

Cost cost(const OpCall& call) { return streaming_cost(call, 3.0 * static_cast<double>(call.in(p_).shape.elements())); }

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const std::int64_t rows = call.out(0).shape.elements();
    Launch l{.shader = shader,
             .spec = params::EntropyConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, p_)},
             .operands = {in(p_), out(0)},
             .groups = flat_grid(rows, caps)};
    return l.with(params::EntropyParams{.rows = u32(rows), .cols = u32(call.in(p_).shape[-1])});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    return add_call(g.inputs[p_].graph(), entropy_backward_op, {g.gradients[0], g.inputs[p_]}, {}, g.where);
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const Shape& shape : {Shape{5, 33}, Shape{2, 3, 1500}, Shape{3, 1}, Shape{0, 4}})
        list.push_back({.name = shape.text(),
                        .inputs = {{.type = TensorType{shape}, .fill = Case::Fill::uniform, .low = 0, .high = 0.01}}});
    list.push_back(
        {.name = "zeros, a certainty", .inputs = {filled_with(TensorType{Shape{3, 2}}, {0, 1, 0, 0, 0.5, 0.5})}});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"subgroup", need_subgroup, every_call, launch<"entropy_subgroup">, loads_by_lane},  // plain: twice as fast there
    {"plain", need_nothing, every_call, launch<"entropy">}};

const OpDef entropy_op = define_op("entropy", "h = -sum p ln p over rows, in nats; 0 ln 0 = 0 (Shannon 1948)",
                                   operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::entropy

// dp = -dh (ln p + 1). The slope has no limit at p = 0: there dp is 0, so that what a mask has hidden stays as it is.
namespace internal::ops::entropy_backward {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const Shape& p = call.in(p_).shape;
    call.require(p.rank() >= 1, operand_is(call, p_) + ", but must have rows");
    static_cast<void>(call.in(dh_));
    require_type(call, dh_, {Shape(p.sizes().first(static_cast<std::size_t>(p.rank() - 1))), DType::f32});
    return {call.in(p_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(p_).shape[-1];
    for (std::int64_t i = 0; i < call.in(p_).shape.elements(); ++i)
        out[0][i] = in[p_][i] > 0 ? -in[dh_][i / cols] * (std::log(in[p_][i]) + 1) : 0;
}

Cost cost(const OpCall& call) { return streaming_cost(call, 4.0 * static_cast<double>(call.in(p_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& p = call.in(p_).shape;
    Launch l{.shader = "entropy_backward",
             .spec = params::EntropyConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, p_)},
             .operands = {in(dh_), in(p_), out(0)},
             .groups = element_grid(p.elements(), 1, caps)};
    return l.with(params::EntropyBackwardParams{.count = u32(p.elements()), .cols = u32(p[-1])});
}

std::vector<Case> cases() {
    const auto of = [](const Shape& rows, Case::Input p) {
        return Case{.name = p.type->shape.text(), .inputs = {{.type = TensorType{rows}, .fixed_type = true}, p}};
    };
    const auto between = [](const Shape& shape) {
        return Case::Input{.type = TensorType{shape}, .fill = Case::Fill::uniform, .low = 0, .high = 0.5};
    };
    return {of({5}, between({5, 33})), of({2, 3}, between({2, 3, 300})), of({}, between({7})), of({0}, between({0, 4})),
            of({3}, filled_with(TensorType{Shape{3, 2}}, {0, 1, 0, 0, 0.5, 1e-3}))};
}

}  // namespace

const OpDef entropy_backward_op =
    define_op("entropy_backward", "dp = -dh (ln p + 1), 0 where p is 0", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace internal::ops::entropy_backward

Tensor entropy(Tensor p, SourceLocation where) { return add_call(p.graph(), entropy_op, {p}, {}, where)[0]; }

}  // namespace vantage
