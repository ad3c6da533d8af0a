// LayerNorm over the last axis, with the residual addition in front of it where there is one.
//   y = (s - mean(s)) / sqrt(var(s) + eps) * gamma + beta,  s = x + residual;  biased variance
// Ba, Kiros, Hinton, "Layer Normalization" (2016).
#include "runtime/ops/layer_norm.h"

#include <cmath>

#include "runtime/base/at.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/norm_backward.h"
#include "shaders/params/layer_norm.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::layer_norm {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    require_floats(call);
    call.require(x.shape.rank() >= 1 && x.shape[-1] > 0, operand_is(call, x_) + ", but must have rows");
    for (int i : {gamma_, beta_}) require_shape(call, i, {x.shape[-1]});
    const TensorType per_row{Shape{x.shape.rows()}, DType::f32};
    if (!call.has(residual_)) return {x, per_row, per_row};
    require_type(call, residual_, x);
    return {x, per_row, per_row, x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const double eps = call.attrs.number("eps", 1e-5);
    const std::int64_t cols = call.in(x_).shape[-1], rows = call.in(x_).shape.rows();
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<double> s(static_cast<std::size_t>(cols));
        double mean = 0, square = 0;
        for (std::int64_t col = 0; col < cols; ++col) {
            at(s, col) = in[x_][row * cols + col] + (call.has(residual_) ? in[residual_][row * cols + col] : 0);
            mean += at(s, col);
        }
        mean /= static_cast<double>(cols);
        for (double value : s) square += (value - mean) * (value - mean);
        const double rstd = 1 / std::sqrt(square / static_cast<double>(cols) + eps);
        for (std::int64_t col = 0; col < cols; ++col) {
            const double value = at(s, col);
            out[y_][row * cols + col] = (value - mean) * rstd * (call.has(gamma_) ? in[gamma_][col] : 1) +
                                        (call.has(beta_) ? in[beta_][col] : 0);
            if (call.has(residual_)) out[sum_][row * cols + col] = value;
        }
        out[mean_][row] = mean;
        out[rstd_][row] = rstd;
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 8.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const RowTeam team = team_of(caps);
    const TensorType& x = call.in(x_);
    const bool residual = call.has(residual_);
    Launch l{.shader = shader,
             .spec = params::LayerNormConstants{.lanes = team.lanes,
                                                .X_TYPE = storage_of(x.dtype),
                                                .GAMMA_TYPE = storage_of(call, {gamma_, beta_, x_}),
                                                .BETA_TYPE = storage_of(call, {beta_, gamma_, x_}),
                                                .STEP = step_of(x.shape[-1]),
                                                .UNROLL = team.unroll},
             .operands = {in(x_), in(gamma_), in(beta_), in(residual_), out(y_), out(mean_), out(rstd_),
                          residual ? out(sum_) : in(residual_)},
             .groups = flat_grid(x.shape.rows(), caps)};
    return l.with(params::LayerNormParams{.rows = u32(x.shape.rows()),
                                          .cols = u32(x.shape[-1]),
                                          .eps = static_cast<float>(call.attrs.number("eps", 1e-5))});
}

// The same with whole vectors of f32.
LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    LaunchPlan plan = launch<"layer_norm_cpu_simd", one_subgroup>(call, caps);
    plan.launches.front().spec =
        params::LayerNormCpuSimdConstants{.lanes = caps.subgroup_size,
                                          .GAMMA_TYPE = storage_of(call, {gamma_, beta_, x_}),
                                          .BETA_TYPE = storage_of(call, {beta_, gamma_, x_}),
                                          .UNROLL = vectors_of_round(call.in(x_).shape[-1], caps)};
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape shape, bool affine, bool residual, double mean, double deviation) {
        const TensorType x{shape, DType::f32}, row{Shape{shape[-1]}, DType::f32};
        const bool wide = shape[-1] % 4 == 0;  // other storages of the weights: only in rows that are read by four
        list.push_back({.name = name,
                        .attrs = {{"eps", affine ? 1e-5 : 1e-3}},
                        .inputs = {{.type = x, .low = mean, .high = deviation},
                                   {.type = only_if(affine, row), .low = 1, .high = 0.2, .weight = wide},
                                   {.type = only_if(affine, row), .weight = wide},
                                   {.type = only_if(residual, x)}}});
    };
    add("rows=1 cols=1", {1, 1}, true, false, 3, 2);
    add("rows=3 cols=64 residual", {3, 64}, true, true, 3, 2);
    add("rows=2x5 cols=33 residual", {2, 5, 33}, true, true, 3, 2);
    add("rows=2 cols=768", {2, 768}, true, false, 3, 2);
    add("rows=3 cols=1601 residual", {3, 1601}, true, true, 3, 2);
    add("rows=0 cols=8", {0, 8}, true, true, 0, 1);
    add("no affine", {4, 48}, false, false, 0, 1);
    add("mean 1000", {3, 132}, false, false, 1000, 1);
    add("constant rows", {2, 35}, true, false, 7.1, 7.1);
    list.back().inputs[0].fill = Case::Fill::uniform;
    return list;
}

// y is the only result that public functions give.
std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.call.has(residual_), of_fusion);
    g.call.require(!g.gradients[mean_] && !g.gradients[rstd_], "mean and rstd have no gradient");
    const NormGradients of = norm_gradients(g, g.inputs[x_], g.inputs[gamma_], g.outputs[mean_], g.outputs[rstd_], 0,
                                            std::array{+x_, +gamma_, +beta_});
    return {of.x, of.gamma, of.beta};
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"cpu_simd", need_subgroup | need_int64, fits_cpu_simd, launch_cpu_simd, loads_once},
    {"one_subgroup", need_subgroup | need_int64, on_cpu, launch<"layer_norm_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"layer_norm_subgroup">},
    {"plain", need_nothing, every_call, launch<"layer_norm">}};

const OpDef layer_norm_op = define_op(
    "layer_norm", "y = (x - mean) / sqrt(var + eps) * gamma + beta over rows, biased variance (Ba, Kiros, Hinton 2016)",
    operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::layer_norm

Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta, double eps, SourceLocation where) {
    return add_call(x.graph(), layer_norm_op, {x, gamma, beta, {}}, {{"eps", eps}}, where)[ops::layer_norm::y_];
}

}  // namespace vantage
