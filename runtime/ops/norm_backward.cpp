// The gradient of a norm over rows by its input.
//   dx = rstd (g - mean(g) - n mean(g n)),  g = dy (gamma + offset),  n = (x - mean) rstd
// and without mean(g) for rms_norm, which has no mean. Ba, Kiros, Hinton 2016; Zhang, Sennrich 2019.
#include "runtime/ops/norm_backward.h"

#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "shaders/params/norm_backward.h"

namespace vantage::internal {

namespace ops::norm_backward {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType &dy = call.in(dy_), &x = call.in(x_);
    call.require(x.shape.rank() >= 1 && x.shape[-1] > 0, operand_is(call, x_) + ", but must have rows");
    require_shape(call, dy_, x.shape);
    require_shape(call, gamma_, {x.shape[-1]});
    static_cast<void>(call.in(rstd_));
    for (const int i : {mean_, rstd_}) require_type(call, i, {Shape{x.shape.rows()}, DType::f32});
    return {dy};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(x_).shape[-1], rows = call.in(x_).shape.rows();
    const double offset = call.attrs.number("weight_offset");
    for (std::int64_t row = 0; row < rows; ++row) {
        const double mean = call.has(mean_) ? in[mean_][row] : 0, rstd = in[rstd_][row];
        const auto g = [&](std::int64_t col) {
            return in[dy_][row * cols + col] * (call.has(gamma_) ? in[gamma_][col] + offset : 1);
        };
        const auto n = [&](std::int64_t col) { return (in[x_][row * cols + col] - mean) * rstd; };
        double sum = 0, product = 0;
        for (std::int64_t col = 0; col < cols; ++col) sum += call.has(mean_) ? g(col) : 0, product += g(col) * n(col);
        for (std::int64_t col = 0; col < cols; ++col)
            out[0][row * cols + col] = rstd * (g(col) - (sum + n(col) * product) / static_cast<double>(cols));
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 12.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(x_);
    Launch l{.shader = shader,
             .spec = params::NormBackwardConstants{.lanes = team_of(caps).lanes,
                                                   .DY_TYPE = storage_of(call, dy_),
                                                   .X_TYPE = storage_of(x.dtype),
                                                   .GAMMA_TYPE = storage_of(call, {gamma_, x_}),
                                                   .STEP = step_of(x.shape[-1])},
             .operands = {in(dy_), in(x_), in(gamma_), in(mean_), in(rstd_), out(0)},
             .groups = flat_grid(x.shape.rows(), caps)};
    return l.with(params::NormBackwardParams{.rows = u32(x.shape.rows()),
                                             .cols = u32(x.shape[-1]),
                                             .offset = static_cast<float>(call.attrs.number("weight_offset"))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, const Shape& shape, bool gamma, bool mean, double offset) {
        const TensorType x{shape}, per_row{Shape{shape.rows()}};
        list.push_back(
            {.name = name,
             .attrs = {{"weight_offset", offset}},
             .inputs = {{.type = x},
                        {.type = x, .low = 1, .high = 2},
                        {.type = only_if(gamma, TensorType{Shape{shape[-1]}}), .low = 1, .high = 0.2},
                        {.type = only_if(mean, per_row), .low = 1, .high = 0.1, .fixed_type = true},
                        {.type = per_row, .fill = Case::Fill::uniform, .low = 0.3, .high = 0.7, .fixed_type = true}}});
    };
    add("3x64", {3, 64}, true, true, 0);
    add("2x5x33", {2, 5, 33}, true, true, 0);
    add("3x1601 rms", {3, 1601}, true, false, 0);
    add("4x768 rms, offset 1", {4, 768}, true, false, 1);
    add("no gain", {4, 48}, false, true, 0);
    add("no rows", {0, 8}, true, true, 0);
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"one_subgroup", need_subgroup, on_cpu, launch<"norm_backward_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"norm_backward_subgroup">},
    {"plain", need_nothing, every_call, launch<"norm_backward">}};

const OpDef norm_backward_op =
    define_op("norm_backward", "dx = rstd (g - mean(g) - n mean(g n)), g = dy (gamma + offset), n = (x - mean) rstd",
              operand_names, infer, reference, cost, kernels, cases, of_a_gradient);

}  // namespace ops::norm_backward

NormGradients norm_gradients(const GradientCall& call, Tensor x, Tensor gamma, Tensor mean, Tensor rstd, double offset,
                             std::span<const int> operands) {
    const Tensor dy = call.gradients[0];
    const auto wanted = [&](std::size_t i) {
        return i < operands.size() && call.needed[static_cast<std::size_t>(operands[i])];
    };
    NormGradients g;
    if (!dy) return g;
    if (wanted(0))
        g.x = add_call(x.graph(), norm_backward_op, {dy, x, gamma, mean, rstd}, {{"weight_offset", offset}},
                       call.where)[0];
    if (wanted(1)) g.gamma = column_sums(dy, x, mean, rstd, call.where);
    if (wanted(2)) g.beta = column_sums(dy, {}, {}, {}, call.where);
    return g;
}

}  // namespace vantage::internal
