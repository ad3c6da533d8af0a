// The gradients of an expert layer by its matrices and biases: a product of dy and x for each expert.
//   dW_e = Σ_c dyᵀ[c] x[c / share], db_e = Σ_c dy[c] over the choices c of expert e, but those that were dropped
#include <algorithm>

#include "runtime/ops/checks.h"
#include "runtime/ops/expert_linear.h"
#include "shaders/params/experts.h"

namespace vantage::internal::ops::expert_gradient {
namespace {

struct Sizes {
    std::int64_t choices, experts, n, k, share;
};
Sizes sizes_of(const OpCall& call) {
    const std::int64_t choices = call.in(dy_).shape[0], rows = call.in(x_).shape[0];
    return {.choices = choices,
            .experts = call.in(offsets_).shape[0] - 2,
            .n = call.in(dy_).shape[1],
            .k = call.in(x_).shape[1],
            .share = rows > 0 ? choices / rows : 1};
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &x = call.in(x_), &offsets = call.in(offsets_);
    for (const int i : {dy_, x_})
        call.require(is_float(call.in(i).dtype) && call.in(i).shape.rank() == 2,
                     operand_is(call, i) + ", but must be floats with two dimensions");
    call.require(offsets.dtype == DType::i32 && offsets.shape.rank() == 1 && offsets.shape[0] > 2,
                 operand_is(call, offsets_) + ", but must be i32 [experts + 2]");
    const Sizes s = sizes_of(call);
    call.require(s.share > 0 && x.shape[0] * s.share == s.choices,
                 operand_is(call, dy_) + ", whose choices do not share the rows of x " + x.text() + " evenly");
    static_cast<void>(call.in(order_));
    require_type(call, order_, {Shape{s.choices}, DType::i32});
    const bool transposed = call.attrs.flag("transpose_w");
    return {{transposed ? Shape{s.experts, s.n, s.k} : Shape{s.experts, s.k, s.n}, DType::f32},
            {Shape{s.experts, s.n}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const bool transposed = call.attrs.flag("transpose_w");
    const auto begin_of = [&](std::int64_t expert) {  // within the choices, whatever a dump says
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(in[offsets_][expert]), 0, s.choices);
    };
    for (std::int64_t expert = 0; expert < s.experts; ++expert)
        for (std::int64_t i = begin_of(expert); i < begin_of(expert + 1); ++i) {
            const auto c = static_cast<std::int64_t>(in[order_][i]);
            if (c < 0 || c >= s.choices) continue;
            for (std::int64_t row = 0; row < s.n; ++row) {
                const double dy = in[dy_][c * s.n + row];
                out[1][expert * s.n + row] += dy;
                for (std::int64_t col = 0; col < s.k; ++col)
                    out[0][expert * s.n * s.k + (transposed ? row * s.k + col : col * s.n + row)] +=
                        dy * in[x_][c / s.share * s.k + col];
            }
        }
}

Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    return streaming_cost(call, 2.0 * static_cast<double>(s.choices) * static_cast<double>(s.n * s.k));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    require_loops(call, caps, s.choices);
    Launch l{.shader = "expert_gradient",
             .spec = params::ExpertGradientConstants{.lanes = workgroup_size(caps),
                                                     .DY_TYPE = storage_of(call, dy_),
                                                     .X_TYPE = storage_of(call, x_),
                                                     .TRANSPOSED = call.attrs.flag("transpose_w")},
             .operands = {in(dy_), in(x_), in(order_), in(offsets_), out(0), out(1)},
             .groups = element_grid(s.experts * s.n * s.k, 1, caps)};
    return l.with(
        params::ExpertGradientParams{.experts = u32(s.experts), .n = u32(s.n), .k = u32(s.k), .share = u32(s.share)});
}

// Choices of 3 experts in their order, as sort_by_expert gives them; the last but one has no expert.
std::vector<Case> cases() {
    const auto list = [](const std::vector<double>& values) { return list_of(DType::i32, values); };
    const auto of = [&](const char* name, std::int64_t rows, bool transposed) {
        return Case{.name = name,
                    .attrs = {{"transpose_w", transposed}},
                    .inputs = {floats({6, 20}), floats({rows, 12}), list({1, 5, 3, 0, 2, 4}), list({0, 2, 3, 5, 6})}};
    };
    return {of("two choices of a row, [experts, n, k]", 3, true), of("a row each, [experts, k, n]", 6, false)};
}

}  // namespace

const OpDef expert_gradient_op = define_op(
    "expert_gradient", "dW_e = sum_c dy[c]^T x[c / share], db_e = sum_c dy[c] over an expert's choices", operand_names,
    infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::expert_gradient
