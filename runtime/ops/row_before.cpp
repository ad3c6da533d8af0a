// The row of a state before the first that a run has of each sequence: where a recurrent layer goes on.
//   y_lane = state[sequence, position - 1], or initial[sequence] (zeros without one) at position 0
#include "runtime/ops/row_before.h"

#include "runtime/ops/step.h"
#include "shaders/params/row_before.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::row_before {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& state = call.in(state_);
    call.require(state.shape.rank() == 2 && is_float(state.dtype),
                 operand_is(call, state_) + ", but must be floats [rows, cols]");
    require_step(call, step_);
    rows_of_each(call, state_, step_);
    const TensorType y{Shape{sequences_of(call, step_), state.shape[1]}, DType::f32};
    require_type(call, initial_, y);
    return {y};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(state_).shape[1], context = rows_of_each(call, state_, step_);
    for (std::int64_t lane = 0; lane < call.out(0).shape[0]; ++lane) {
        const std::int64_t position = word(in[step_], STEP_POSITION, lane), sequence = sequence_of(in[step_], lane);
        for (std::int64_t col = 0; col < cols; ++col)
            if (position > 0 && position <= context)
                out[0][lane * cols + col] = in[state_][(sequence * context + position - 1) * cols + col];
            else if (position == 0 && call.has(initial_))
                out[0][lane * cols + col] = in[initial_][sequence * cols + col];
    }
}

Cost cost(const OpCall& call) {
    const double bytes = static_cast<double>(call.out(0).bytes());
    return {0, bytes, bytes};
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& y = call.out(0).shape;
    Launch l{.shader = "row_before",
             .spec = params::RowBeforeConstants{.lanes = workgroup_size(caps), .STATE_TYPE = storage_of(call, state_)},
             .operands = {in(state_), in(initial_), in(step_), out(0)},
             .groups = element_grid(y.elements(), 1, caps)};
    return l.with(params::RowBeforeParams{
        .lanes = u32(y[0]), .cols = u32(y[1]), .state_rows = u32(rows_of_each(call, state_, step_))});
}

std::vector<Case> cases() {
    const Case::Input initial{.type = TensorType{Shape{3, 33}}, .fixed_type = true};
    const Case::Input steps = steps_of_case({step_of_case(0, 2), step_of_case(5, 1), step_of_case(6, 0)});
    return {
        {.name = "row 6 of 20", .inputs = {floats({20, 12}), {}, step_of_case(7, 1)}},
        {.name = "the initial row",
         .inputs = {floats({20, 33}), {.type = TensorType{Shape{1, 33}}, .fixed_type = true}, step_of_case(0, 4)}},
        {.name = "zeros", .inputs = {floats({20, 12}), {}, step_of_case(0, 4)}},
        {.name = "3 sequences", .inputs = {floats({18, 33}), initial, steps}},
        {.name = "3 sequences in reverse", .inputs = {floats({18, 33}), initial, reversed_lanes(steps)}},
        {.name = "beyond the state", .inputs = {floats({4, 12}), {}, step_of_case(5, 1)}},
    };
}

}  // namespace

const OpDef row_before_op =
    define_op("row_before", "y = state[position - 1], the row before a run's first, or an initial one", operand_names,
              infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state,
              {.step = step_, .context_rows = {state_}});

}  // namespace internal::ops::row_before

Tensor row_before(Tensor state, Tensor initial, Tensor step, SourceLocation where) {
    return add_call(state.graph(), row_before_op, {state, initial, step}, {}, where)[0];
}

}  // namespace vantage
