// The gradient of a softmax over an axis by its input, from its result y.
//   softmax: dx = scale y (dy - sum y dy);  log_softmax: dx = scale (dy - exp(y) sum dy)
//   sparsemax: dx = dy - mean of dy over the support, on the support (Martins, Astudillo 2016)
// A row of zeros, which saw nothing, has the gradient 0.
#include "runtime/ops/softmax_backward.h"

#include <cmath>

#include "runtime/ops/checks.h"
#include "shaders/params/softmax_backward.h"

namespace vantage::internal {

namespace ops::softmax_backward {
namespace {

std::uint32_t kind_of(const OpCall& call) {
    const std::string kind = call.attrs.text("kind", "softmax");
    if (kind == "softmax") return BACKWARD_SOFTMAX;
    call.require(kind == "log_softmax" || kind == "sparsemax", "kind is " + kind);
    return kind == "sparsemax" ? BACKWARD_SPARSEMAX : BACKWARD_LOG_SOFTMAX;
}

// y seen as (outer, count, inner), the axis in the middle.
struct Axis {
    std::int64_t outer = 1, count = 1, inner = 1;
};
Axis axis_of(const OpCall& call) {
    const Shape& shape = call.in(y_).shape;
    std::int64_t axis = call.attrs.integer("axis", -1);
    if (axis < 0) axis += shape.rank();
    Axis a;
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? a.outer : i == axis ? a.count : a.inner) *= shape[i];
    return a;
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    static_cast<void>(kind_of(call));
    require_shape(call, dy_, call.in(y_).shape);
    const std::int64_t axis = call.attrs.integer("axis", -1), rank = call.in(y_).shape.rank();
    if (axis < -rank || axis >= rank) call.fail("axis is " + std::to_string(axis) + ", but " + operand_is(call, y_));
    return {call.in(dy_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Axis a = axis_of(call);
    const std::uint32_t kind = kind_of(call);
    for (std::int64_t row = 0; row < a.outer * a.inner; ++row) {
        const auto at = [&](std::int64_t j) { return (row / a.inner * a.count + j) * a.inner + row % a.inner; };
        double total = 0, support = 0;
        for (std::int64_t j = 0; j < a.count; ++j) {
            const double y = in[y_][at(j)], share = kind == BACKWARD_SOFTMAX                ? y
                                                    : kind == BACKWARD_LOG_SOFTMAX || y > 0 ? 1
                                                                                            : 0;
            if (share != 0) total += share * in[dy_][at(j)];
            support += share;
        }
        if (kind == BACKWARD_SPARSEMAX) total /= support;
        for (std::int64_t j = 0; j < a.count; ++j) {
            const double y = in[y_][at(j)], dy = in[dy_][at(j)];
            double dx = kind == BACKWARD_LOG_SOFTMAX ? dy - std::exp(y) * total : 0;
            if (kind != BACKWARD_LOG_SOFTMAX && y > 0) dx = (kind == BACKWARD_SOFTMAX ? y : 1) * (dy - total);
            out[0][at(j)] = call.attrs.number("scale", 1) * dx;
        }
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 6.0 * static_cast<double>(call.in(y_).shape.elements())); }

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Axis a = axis_of(call);
    Launch l{.shader = shader,
             .spec =
                 params::SoftmaxBackwardConstants{
                     .lanes = team_of(caps).lanes, .DY_TYPE = storage_of(call, dy_), .Y_TYPE = storage_of(call, y_)},
             .operands = {in(dy_), in(y_), out(0)},
             .groups = flat_grid(a.outer * a.inner, caps)};
    return l.with(params::SoftmaxBackwardParams{.rows = u32(a.outer * a.inner),
                                                .count = u32(a.count),
                                                .inner = u32(a.inner),
                                                .kind = kind_of(call),
                                                .scale = static_cast<float>(call.attrs.number("scale", 1))});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& shape, const char* kind, int axis, double low, double high) {
        return Case{.name = name,
                    .attrs = {{"kind", kind}, {"axis", axis}, {"scale", kind[1] == 'p' ? 1.0 : 0.5}},
                    .inputs = {floats(shape),
                               {.type = TensorType{shape}, .fill = Case::Fill::uniform, .low = low, .high = high}}};
    };
    return {of("softmax of 5x129", {5, 129}, "softmax", -1, 0, 0.02),
            of("log_softmax of 3x300", {3, 300}, "log_softmax", -1, -7, -4),
            of("sparsemax of 4x33", {4, 33}, "sparsemax", -1, 0, 0.06),
            of("softmax, axis 1 of 2x7x33", {2, 7, 33}, "softmax", 1, 0, 0.3),
            of("no rows", {0, 8}, "softmax", -1, 0, 1),
            {.name = "rows without anything",
             .attrs = {{"kind", "softmax"}, {"axis", -1}},
             .inputs = {floats({2, 3}), filled_with(TensorType{Shape{2, 3}}, {0, 0, 0, 0, 1, 0})}}};
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"one_subgroup", need_subgroup, on_cpu, launch<"softmax_backward_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"softmax_backward_subgroup">},
    {"plain", need_nothing, every_call, launch<"softmax_backward">}};

const OpDef softmax_backward_op =
    define_op("softmax_backward", "dx of softmax, log_softmax or sparsemax over an axis, from dy and y", operand_names,
              infer, reference, cost, kernels, cases, of_a_gradient);

}  // namespace ops::softmax_backward

Tensor softmax_backward(Tensor dy, Tensor y, const char* kind, std::int64_t axis, double scale, SourceLocation where) {
    return add_call(y.graph(), softmax_backward_op, {dy, y}, {{"kind", kind}, {"axis", axis}, {"scale", scale}},
                    where)[0];
}

}  // namespace vantage::internal
