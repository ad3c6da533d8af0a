// The cross-entropy of each row of logits z with its target y.
//   loss = (1 - s) (lse - z_y) + s (lse - mean z) + zeta lse^2,  lse = ln sum exp(z)
// s smooths the labels (Szegedy et al. 2015), zeta keeps the denominator near 1 (z-loss, Chowdhery et al. 2022). A row
// whose target is negative, or no column, does not count: its loss and its gradient are 0.
#include "runtime/ops/cross_entropy.h"

#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/cross_entropy.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::cross_entropy {
namespace {

std::int64_t first_target(const OpCall& call) { return call.attrs.integer("first_target", 0); }

void check(const OpCall& call) {
    const TensorType& logits = call.in(logits_);
    call.require(is_float(logits.dtype) && logits.shape.rank() == 2 && logits.shape[1] > 0,
                 operand_is(call, logits_) + ", but must be floats [rows, classes]");
    const TensorType& targets = call.in(targets_);
    const std::int64_t first = first_target(call);
    call.require(first >= 0 && targets.dtype == DType::i32 && targets.shape.rank() == 1 &&
                     targets.shape[0] - first >= logits.shape[0],
                 operand_is(call, targets_) +
                     format(", but must be i32 with the targets {} … {}", first, first + logits.shape[0] - 1));
    const double smoothing = call.attrs.number("label_smoothing"), z_loss = call.attrs.number("z_loss");
    call.require(smoothing >= 0 && smoothing < 1,
                 format("label_smoothing is {:g}, but must be from 0 to below 1", smoothing));
    call.require(z_loss >= 0 && z_loss <= 1e30, format("z_loss is {:g}, but must be 0 or more", z_loss));
}

std::vector<TensorType> infer(const OpCall& call) {
    check(call);
    const TensorType per_row{Shape{call.in(logits_).shape[0]}, DType::f32};
    return {per_row, per_row};
}

std::int64_t target_of(const OpCall& call, std::span<const HostTensor> in, std::int64_t row) {
    const auto target = static_cast<std::int64_t>(in[targets_][first_target(call) + row]);
    return target < call.in(logits_).shape[1] ? target : -1;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t rows = call.in(logits_).shape[0], cols = call.in(logits_).shape[1];
    const double smoothing = call.attrs.number("label_smoothing"), z_loss = call.attrs.number("z_loss");
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto z = [&](std::int64_t col) { return in[logits_][row * cols + col]; };
        double highest = -std::numeric_limits<double>::infinity(), sum = 0, mean = 0;
        for (std::int64_t col = 0; col < cols; ++col)
            highest = std::max(highest, z(col)), mean += z(col) / static_cast<double>(cols);
        for (std::int64_t col = 0; col < cols; ++col) sum += std::exp(z(col) - highest);
        const double lse = highest + std::log(sum);
        out[lse_][row] = lse;
        if (const std::int64_t target = target_of(call, in, row); target >= 0)
            out[loss_][row] = (1 - smoothing) * (lse - z(target)) + (smoothing > 0 ? smoothing * (lse - mean) : 0) +
                              z_loss * lse * lse;
    }
}

void reference_backward(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    namespace backward = ops::cross_entropy_backward;
    const std::int64_t rows = call.in(logits_).shape[0], cols = call.in(logits_).shape[1];
    const double smoothing = call.attrs.number("label_smoothing"), z_loss = call.attrs.number("z_loss");
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t target = target_of(call, in, row);
        const double lse = in[backward::lse_][row];
        for (std::int64_t col = 0; col < cols && target >= 0; ++col)
            out[0][row * cols + col] = in[backward::dloss_][row] *
                                       (std::exp(in[logits_][row * cols + col] - lse) * (1 + 2 * z_loss * lse) -
                                        (col == target ? 1 - smoothing : 0) - smoothing / static_cast<double>(cols));
    }
}

std::vector<TensorType> infer_backward(const OpCall& call) {
    namespace backward = ops::cross_entropy_backward;
    check(call);
    for (const int i : {+backward::lse_, +backward::dloss_}) {
        static_cast<void>(call.in(i));
        require_type(call, i, {Shape{call.in(logits_).shape[0]}, DType::f32});
    }
    return {call.in(logits_)};
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, 5.0 * static_cast<double>(call.in(logits_).shape.elements()));
}

Launch launch_of(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes,
                 std::vector<Operand> operands) {
    const Shape& logits = call.in(logits_).shape;
    Launch l{.shader = shader,
             .spec = params::CrossEntropyConstants{.lanes = lanes, .X_TYPE = storage_of(call, logits_)},
             .operands = std::move(operands),
             .groups = flat_grid(logits[0], caps)};
    return l.with(params::CrossEntropyParams{.rows = u32(logits[0]),
                                             .cols = u32(logits[1]),
                                             .smoothing = static_cast<float>(call.attrs.number("label_smoothing")),
                                             .z_loss = static_cast<float>(call.attrs.number("z_loss")),
                                             .first_target = u32(first_target(call))});
}

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    return launch_of(call, caps, shader, team_of(caps).lanes,
                     {in(logits_), in(targets_), out(loss_), out(lse_), no_operand});
}

LaunchPlan launch_backward(const OpCall& call, const Caps& caps) {
    namespace backward = ops::cross_entropy_backward;
    return launch_of(call, caps, "cross_entropy_backward", workgroup_size(caps),
                     {in(logits_), in(targets_), in(backward::dloss_), in(backward::lse_), out(0)});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.gradients[lse_], "the log-sum-exp has no gradient");
    return add_call(g.inputs[logits_].graph(), cross_entropy_backward_op,
                    {g.inputs[logits_], g.inputs[targets_], g.outputs[lse_], g.gradients[loss_]}, g.call.attrs,
                    g.where);
}

template <bool backward>
std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::int64_t rows, std::int64_t cols, const Attrs& attrs) {
        Case one{.name = name,
                 .attrs = attrs,
                 .inputs = {{.type = TensorType{Shape{rows, cols}}, .low = 0, .high = 3},
                            integers_below({rows + attrs.integer("first_target", 0)}, cols, -1)}};
        if (backward) {
            const TensorType per_row{Shape{rows}};
            one.inputs.push_back({.type = per_row, .low = 5 + std::log(static_cast<double>(cols)), .fixed_type = true});
            one.inputs.push_back({.type = per_row, .fixed_type = true});
        }
        list.push_back(one);
    };
    add("7x33", 7, 33, {});
    add("3x2048, smoothed", 3, 2048, {{"label_smoothing", 0.1}});
    add("5x300, z-loss", 5, 300, {{"z_loss", 0.01}, {"label_smoothing", 0.2}});
    add("6x40, targets 3 …", 6, 40, {{"first_target", 3}});
    add("4x1", 4, 1, {});
    add("no rows", 0, 8, {});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"one_subgroup", need_subgroup, on_cpu, launch<"cross_entropy_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"cross_entropy_subgroup">},
    {"plain", need_nothing, every_call, launch<"cross_entropy">}};

const OpDef cross_entropy_op =
    define_op("cross_entropy", "loss = (1 - s) (lse - z_y) + s (lse - mean z) + zeta lse^2 of each row (Szegedy 2015)",
              operand_names, infer, reference, cost, kernels, cases<false>, gradient);

}  // namespace internal::ops::cross_entropy

namespace internal::ops::cross_entropy_backward {
const OpDef cross_entropy_backward_op = define_op(
    "cross_entropy_backward", "dz = g (p (1 + 2 zeta lse) - (1 - s) [column y] - s / columns) of each row",
    operand_names, cross_entropy::infer_backward, cross_entropy::reference_backward, cross_entropy::cost,
    {{"plain", need_nothing, every_call, cross_entropy::launch_backward}}, cross_entropy::cases<true>, of_a_gradient);
}

CrossEntropy cross_entropy(Tensor logits, Tensor targets, CrossEntropyOptions options, SourceLocation where) {
    const std::vector<Tensor> results = add_call(logits.graph(), cross_entropy_op, {logits, targets},
                                                 {{"label_smoothing", options.label_smoothing},
                                                  {"z_loss", options.z_loss},
                                                  {"first_target", options.first_target}},
                                                 where);
    return {results[ops::cross_entropy::loss_], results[ops::cross_entropy::lse_]};
}

}  // namespace vantage
