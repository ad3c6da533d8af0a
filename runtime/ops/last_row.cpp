// The last valid row of each sequence: the next token is computed from it, so one row of logits is enough.
//   y_b = x_(b, valid_b - 1)
#include "runtime/ops/last_row.h"

#include "runtime/ops/step.h"
#include "shaders/params/last_row.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::last_row {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() == 2 && is_float(x.dtype), operand_is(call, x_) + ", but must be floats [rows, cols]");
    require_step(call, step_);
    rows_of_each(call, x_, step_);
    return {{Shape{sequences_of(call, step_), x.shape[1]}, x.dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(x_).shape[1], each = rows_of_each(call, x_, step_);
    for (std::int64_t b = 0; b < call.out(0).shape[0]; ++b) {
        const std::int64_t row = std::min(word(in[step_], STEP_VALID, b), each) - 1;
        for (std::int64_t col = 0; col < cols; ++col)
            out[0][b * cols + col] = row < 0 ? 0 : in[x_][(b * each + row) * cols + col];
    }
}

Cost cost(const OpCall& call) {
    const double bytes = static_cast<double>(call.out(0).bytes());
    return {0, bytes, bytes};
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(x_);
    const std::uint32_t step = step_of(x.shape[1]);
    Launch l{
        .shader = "last_row",
        .spec = params::LastRowConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(x.dtype), .STEP = step},
        .operands = {in(x_), in(step_), out(0)},
        .groups = element_grid(call.out(0).shape.elements(), step, caps)};
    return l.with(params::LastRowParams{
        .rows = u32(rows_of_each(call, x_, step_)), .cols = u32(x.shape[1]), .sequences = u32(call.out(0).shape[0])});
}

std::vector<Case> cases() {
    return {
        {.name = "5 of 8 rows", .inputs = {floats({8, 48}), step_of_case(30, 5)}},
        {.name = "odd width", .inputs = {floats({6, 33}), step_of_case(0, 6)}},
        {.name = "5, 0 and 8 of 8 rows of 3 sequences",
         .inputs = {floats({24, 48}), steps_of_case({step_of_case(30, 5), step_of_case(7, 0), step_of_case(0, 8)})}},
        {.name = "odd width, 2 sequences",
         .inputs = {floats({6, 33}), steps_of_case({step_of_case(0, 2), step_of_case(9, 3)})}},
        {.name = "nothing valid", .inputs = {floats({3, 8}), step_of_case(9, 0)}},
        {.name = "more valid than rows", .inputs = {floats({2, 1601}), step_of_case(0, 7)}},
    };
}

}  // namespace

const OpDef last_row_op =
    define_op("last_row", "y = x[valid - 1], the row from which the next token is computed", operand_names, infer,
              reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state, {.step = step_});

}  // namespace internal::ops::last_row

Tensor last_row(Tensor x, Tensor step, SourceLocation where) {
    return add_call(x.graph(), last_row_op, {x, step}, {}, where)[0];
}

}  // namespace vantage
