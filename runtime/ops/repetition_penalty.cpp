// Makes tokens that were seen before less likely.
//   y_i = x_i / penalty where x_i > 0, x_i penalty where not, for every i whose bit is set in seen
// Keskar et al. 2019 (CTRL), in the form that transformers gave it: never more likely, whatever the sign.
#include "runtime/ops/repetition_penalty.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/repetition_penalty.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::repetition_penalty {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &x = call.in(logits_), &seen = call.in(seen_);
    call.require(x.shape.rank() >= 1 && is_float(x.dtype),
                 operand_is(call, logits_) + ", but must be floats [rows, vocabulary]");
    call.require(seen.shape.rank() == 1 && seen.dtype == DType::u32 && seen.shape[0] * 32 >= x.shape[-1],
                 operand_is(call, seen_) + ", but must be u32 with a bit for each column of logits " + x.text());
    call.require(call.attrs.number("penalty", 1) > 0,
                 format("penalty is {:g}, but must be above 0", call.attrs.number("penalty", 1)));
    return {x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(logits_).shape[-1];
    const double penalty = call.attrs.number("penalty", 1);
    for (std::int64_t i = 0; i < call.in(logits_).shape.elements(); ++i) {
        const double x = in[logits_][i];
        const bool seen = (static_cast<std::uint32_t>(in[seen_][i % cols / 32]) >> (i % cols % 32) & 1u) != 0;
        out[0][i] = !seen ? x : x > 0 ? x / penalty : x * penalty;
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.in(logits_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(logits_);
    const std::uint32_t step = step_of(x.shape[-1]);
    Launch l{.shader = "repetition_penalty",
             .spec =
                 params::RepetitionPenaltyConstants{
                     .lanes = workgroup_size(caps), .X_TYPE = storage_of(x.dtype), .STEP = step},
             .operands = {in(logits_), in(seen_), out(0)},
             .groups = element_grid(x.shape.elements(), step, caps)};
    return l.with(params::RepetitionPenaltyParams{.count = u32(x.shape.elements()),
                                                  .cols = u32(x.shape[-1]),
                                                  .penalty = static_cast<float>(call.attrs.number("penalty", 1))});
}

std::vector<Case> cases() {
    const auto of = [](std::int64_t rows, std::int64_t cols, const std::vector<double>& seen) {
        return Case{.name = format("rows={} cols={}", rows, cols),
                    .attrs = {{"penalty", 1.3}},
                    .inputs = {{.type = TensorType{Shape{rows, cols}}, .high = 3}, list_of(DType::u32, seen)}};
    };
    return {of(1, 64, {0xdeadbeef, 0x12345678}), of(3, 33, {0x8f00ff01, 1}), of(2, 4, {0xa}), of(0, 8, {0xff})};
}

}  // namespace

const OpDef repetition_penalty_op =
    define_op("repetition_penalty",
              "y_i = x_i / penalty or x_i penalty, whichever is less, for tokens seen before (Keskar et al. 2019)",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases,
              "it prepares a draw, which is not differentiated");

}  // namespace internal::ops::repetition_penalty

Tensor repetition_penalty(Tensor logits, Tensor seen, double penalty, SourceLocation where) {
    return add_call(logits.graph(), repetition_penalty_op, {logits, seen}, {{"penalty", penalty}}, where)[0];
}

}  // namespace vantage
