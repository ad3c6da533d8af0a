// Softmax and its logarithm over any axis; `scale` multiplies x first (1 / temperature, 1 / sqrt(width)).
//   softmax:     y = exp(s - max s) / sum exp(s - max s),  s = scale x;  a row of only -inf gives zeros
//   log_softmax: y = s - max s - ln sum exp(s - max s);                  a row of only -inf gives -inf
// Bridle, "Probabilistic interpretation of feedforward classification network outputs" (1990).
#include "runtime/ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/checks.h"
#include "runtime/ops/softmax_backward.h"
#include "shaders/params/softmax.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::softmax {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// x seen as (outer, count, inner), the axis in the middle.
struct Axis {
    std::int64_t outer = 1, count = 1, inner = 1;
};
Axis axis_of(const OpCall& call) {
    const Shape& shape = call.in(x_).shape;
    std::int64_t axis = call.attrs.integer("axis", -1);
    if (axis < 0) axis += shape.rank();
    Axis a;
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? a.outer : i == axis ? a.count : a.inner) *= shape[i];
    return a;
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const std::int64_t axis = call.attrs.integer("axis", -1), rank = call.in(x_).shape.rank();
    if (axis < -rank || axis >= rank) call.fail("axis is " + std::to_string(axis) + ", but " + operand_is(call, x_));
    return {call.in(x_)};
}

template <bool logarithm>
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Axis a = axis_of(call);
    const double scale = call.attrs.number("scale", 1);
    for (std::int64_t row = 0; row < a.outer * a.inner; ++row) {
        const auto at = [&](std::int64_t j) { return (row / a.inner * a.count + j) * a.inner + row % a.inner; };
        double maximum = -infinity, sum = 0;
        for (std::int64_t j = 0; j < a.count; ++j) maximum = std::max(maximum, scale * in[x_][at(j)]);
        if (maximum == -infinity) maximum = 0;  // exp(-inf - 0) = 0: zeros
        for (std::int64_t j = 0; j < a.count; ++j) sum += std::exp(scale * in[x_][at(j)] - maximum);
        for (std::int64_t j = 0; j < a.count; ++j) {
            const double s = scale * in[x_][at(j)] - maximum;
            if (logarithm) out[0][at(j)] = sum > 0 ? s - std::log(sum) : -infinity;
            if (!logarithm) out[0][at(j)] = sum > 0 ? std::exp(s) / sum : 0;
        }
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 8.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <bool logarithm, ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const RowTeam team = team_of(caps);
    const Axis a = axis_of(call);
    Launch l{.shader = shader,
             .spec = params::SoftmaxConstants{.lanes = team.lanes,
                                              .X_TYPE = storage_of(call.in(x_).dtype),
                                              .STEP = a.inner == 1 ? step_of(a.count) : 1,
                                              .UNROLL = team.unroll},
             .operands = {in(x_), out(0)},
             .groups = flat_grid(a.outer * a.inner, caps)};
    return l.with(params::SoftmaxParams{.rows = u32(a.outer * a.inner),
                                        .count = u32(a.count),
                                        .inner = u32(a.inner),
                                        .logarithm = logarithm,
                                        .scale = static_cast<float>(call.attrs.number("scale", 1))});
}

// Whole vectors of f32, where rows lie together.
bool fits_cpu_simd_rows(const OpCall& call, const Caps& caps) {
    return call.in(x_).shape.rank() > 0 && axis_of(call).inner == 1 && fits_cpu_simd(call, caps);
}
template <bool logarithm>
LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    LaunchPlan plan = launch<logarithm, "softmax_cpu_simd", one_subgroup>(call, caps);
    plan.launches.front().spec = params::SoftmaxCpuSimdConstants{
        .lanes = caps.subgroup_size, .LOGARITHM = logarithm, .UNROLL = vectors_of_round(axis_of(call).count, caps)};
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape shape, int axis, double scale, double deviation) {
        list.push_back({.name = name,
                        .attrs = {{"axis", axis}, {"scale", scale}},
                        .inputs = {{.type = TensorType{shape}, .low = 0, .high = deviation}}});
    };
    add("rows=3 cols=1", {3, 1}, -1, 1, 1);
    add("rows=5 cols=129", {5, 129}, -1, 1, 2);
    add("rows=2x3 cols=64 scale", {2, 3, 64}, -1, 0.125, 8);
    add("rows=2 cols=4100 wide", {2, 4100}, -1, 1, 20);
    add("axis 1 of 2x7x33", {2, 7, 33}, 1, 1, 2);
    add("axis 0 of 300x5", {300, 5}, 0, 0.5, 2);
    add("rows=0 cols=8", {0, 8}, -1, 1, 1);
    add("rows=3 cols=0", {3, 0}, -1, 1, 1);
    // all masked; partly masked; one alone; equal and large; far apart; the finite mask value of others
    list.push_back({.name = "masked",
                    .attrs = {{"axis", -1}},
                    .inputs = {filled_with(TensorType{Shape{6, 3}},
                                           {-infinity, -infinity, -infinity, 1, -infinity, 2, -infinity, -infinity, -3,
                                            60000, 60000, 60000, 20000, -20000, 0, -65504, -65504, -65504})}});
    std::vector<double> wide(128, -infinity);  // by whole vectors: all masked, and all but two
    wide[70] = 3, wide[127] = 2;
    list.push_back(
        {.name = "masked, 2x64", .attrs = {{"axis", -1}}, .inputs = {filled_with(TensorType{Shape{2, 64}}, wide)}});
    return list;
}

template <bool logarithm>
std::vector<Tensor> gradient(const GradientCall& g) {
    return {internal::softmax_backward(g.gradients[0], g.outputs[0], logarithm ? "log_softmax" : "softmax",
                                       g.call.attrs.integer("axis", -1), g.call.attrs.number("scale", 1), g.where)};
}

template <bool logarithm>
std::vector<Kernel> kernels() {
    return {
        {"cpu_simd", need_subgroup | need_int64, fits_cpu_simd_rows, launch_cpu_simd<logarithm>, loads_once},
        {"one_subgroup", need_subgroup | need_int64, on_cpu, launch<logarithm, "softmax_one_subgroup", one_subgroup>},
        {"subgroup", need_subgroup, every_call, launch<logarithm, "softmax_subgroup">},
        {"plain", need_nothing, every_call, launch<logarithm, "softmax">}};
}

}  // namespace

const OpDef softmax_op = define_op(
    "softmax",
    "y = exp(s - max s) / sum exp(s - max s) over an axis, s = scale x; zeros where all is -inf (Bridle 1990)",
    operand_names, infer, reference<false>, cost, kernels<false>(), cases, gradient<false>);

const OpDef log_softmax_op =
    define_op("log_softmax",
              "y = s - max s - ln sum exp(s - max s) over an axis, s = scale x; -inf where all is -inf (Bridle 1990)",
              operand_names, infer, reference<true>, cost, kernels<true>(), cases, gradient<true>);

}  // namespace internal::ops::softmax

Tensor softmax(Tensor x, int axis, double scale, SourceLocation where) {
    return add_call(x.graph(), softmax_op, {x}, {{"axis", axis}, {"scale", scale}}, where)[0];
}

Tensor log_softmax(Tensor x, int axis, double scale, SourceLocation where) {
    return add_call(x.graph(), log_softmax_op, {x}, {{"axis", axis}, {"scale", scale}}, where)[0];
}

}  // namespace vantage
