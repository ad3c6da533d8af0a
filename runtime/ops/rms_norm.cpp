// RMSNorm over the last axis, with the residual addition in front of it where there is one.
//   y = s / sqrt(mean(s^2) + eps) * (weight_offset + weight),  s = x + residual
// Zhang, Sennrich, "Root Mean Square Layer Normalization" (2019); an offset of 1 is Gemma's.
#include "runtime/ops/rms_norm.h"

#include <cmath>

#include "runtime/ops/checks.h"
#include "runtime/ops/norm_backward.h"
#include "shaders/params/rms_norm.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::rms_norm {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    require_floats(call);
    call.require(x.shape.rank() >= 1 && x.shape[-1] > 0, operand_is(call, x_) + ", but must have rows");
    require_shape(call, weight_, {x.shape[-1]});
    const TensorType per_row{Shape{x.shape.rows()}, DType::f32};
    if (!call.has(residual_)) return {x, per_row};
    require_type(call, residual_, x);
    return {x, per_row, x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const double eps = call.attrs.number("eps", 1e-6), offset = call.attrs.number("weight_offset", 0);
    const std::int64_t cols = call.in(x_).shape[-1], rows = call.in(x_).shape.rows();
    const auto s = [&](std::int64_t i) { return in[x_][i] + (call.has(residual_) ? in[residual_][i] : 0); };
    for (std::int64_t row = 0; row < rows; ++row) {
        double square = 0;
        for (std::int64_t i = row * cols; i < (row + 1) * cols; ++i) square += s(i) * s(i);
        const double rstd = 1 / std::sqrt(square / static_cast<double>(cols) + eps);
        for (std::int64_t col = 0; col < cols; ++col) {
            const std::int64_t i = row * cols + col;
            out[y_][i] = s(i) * rstd * (call.has(weight_) ? offset + in[weight_][col] : 1);
            if (call.has(residual_)) out[sum_][i] = s(i);
        }
        out[rstd_][row] = rstd;
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 5.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const RowTeam team = team_of(caps);
    const TensorType& x = call.in(x_);
    Launch l{.shader = shader,
             .spec = params::RmsNormConstants{.lanes = team.lanes,
                                              .X_TYPE = storage_of(x.dtype),
                                              .WEIGHT_TYPE = storage_of(call, {weight_, x_}),
                                              .STEP = step_of(x.shape[-1]),
                                              .UNROLL = team.unroll},
             .operands = {in(x_), in(weight_), in(residual_), out(y_), out(rstd_),
                          call.has(residual_) ? out(sum_) : in(residual_)},
             .groups = flat_grid(x.shape.rows(), caps)};
    return l.with(params::RmsNormParams{.rows = u32(x.shape.rows()),
                                        .cols = u32(x.shape[-1]),
                                        .eps = static_cast<float>(call.attrs.number("eps", 1e-6)),
                                        .weight_offset = static_cast<float>(call.attrs.number("weight_offset", 0))});
}

// The same with whole vectors of f32.
LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    LaunchPlan plan = launch<"rms_norm_cpu_simd", one_subgroup>(call, caps);
    plan.launches.front().spec =
        params::RmsNormCpuSimdConstants{.lanes = caps.subgroup_size,
                                        .WEIGHT_TYPE = storage_of(call, {weight_, x_}),
                                        .UNROLL = vectors_of_round(call.in(x_).shape[-1], caps)};
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape shape, double offset, bool weight, bool residual) {
        const TensorType x{shape, DType::f32}, row{Shape{shape[-1]}, DType::f32};
        const bool wide = shape[-1] % 4 == 0;  // other storages of the weights: only in rows that are read by four
        list.push_back({.name = name,
                        .attrs = {{"eps", 1e-5}, {"weight_offset", offset}},
                        .inputs = {{.type = x, .low = 0.5, .high = 2},
                                   {.type = only_if(weight, row), .low = 1 - offset, .high = 0.2, .weight = wide},
                                   {.type = only_if(residual, x)}}});
    };
    add("rows=1 cols=1", {1, 1}, 0, true, false);
    add("rows=3 cols=64 residual", {3, 64}, 0, true, true);
    add("rows=2x5 cols=33 residual offset", {2, 5, 33}, 1, true, true);
    add("rows=2 cols=768", {2, 768}, 0, true, false);
    add("rows=3 cols=1601", {3, 1601}, 0, true, false);
    add("rows=0 cols=8 residual", {0, 8}, 0, true, true);
    add("no weight", {4, 48}, 1, false, false);
    list.push_back({.name = "zeros",
                    .attrs = {{"eps", 1e-5}},
                    .inputs = {{.type = TensorType{Shape{2, 12}}, .fill = Case::Fill::zeros}}});
    return list;
}

std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.call.has(residual_), of_fusion);
    g.call.require(!g.gradients[rstd_], "rstd has no gradient");
    const NormGradients of = norm_gradients(g, g.inputs[x_], g.inputs[weight_], {}, g.outputs[rstd_],
                                            g.call.attrs.number("weight_offset"), std::array{+x_, +weight_});
    return {of.x, of.gamma};
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"cpu_simd", need_subgroup | need_int64, fits_cpu_simd, launch_cpu_simd, loads_once},
    {"one_subgroup", need_subgroup | need_int64, on_cpu, launch<"rms_norm_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"rms_norm_subgroup">},
    {"plain", need_nothing, every_call, launch<"rms_norm">}};

const OpDef rms_norm_op = define_op(
    "rms_norm",
    "y = s / sqrt(mean(s^2) + eps) * (weight_offset + weight) over rows, s = x + residual (Zhang, Sennrich 2019)",
    operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::rms_norm

Tensor rms_norm(Tensor x, Tensor weight, double eps, double weight_offset, SourceLocation where) {
    return add_call(x.graph(), rms_norm_op, {x, weight, {}}, {{"eps", eps}, {"weight_offset", weight_offset}},
                    where)[ops::rms_norm::y_];
}

}  // namespace vantage
