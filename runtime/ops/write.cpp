// Writes the rows of a run into a state: keys and values into the cache, recorded queries into their store.
//   state[position + r] = x_r for r < valid, in the state's storage type; without a step all rows, from the first on
// A quantised state gets whole blocks of 32 elements.
// With a step of several lanes the state and the rows have one part of equal size for each: the rows of a lane go to the
// part of its sequence, or with by_lane (a state that is a result of the run itself) to the lane's own part.
#include "runtime/ops/write.h"

#include <algorithm>

#include "runtime/ops/step.h"
#include "shaders/params/quantized.h"
#include "shaders/params/write.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::write {
namespace {

constexpr std::int64_t largest_quantized = std::int64_t{1} << 31;  // elements: kernels count them in 32 bits

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &state = call.in(state_), &x = call.in(rows_);
    call.require(state.shape.rank() >= 1 && (is_float(state.dtype) || has_byte_kernels(state.dtype)),
                 operand_is(call, state_) + ", but must be rows of floats, q8_0 or q4_0");
    call.require(x.shape.rank() >= 1 && is_float(x.dtype), operand_is(call, rows_) + ", but must be rows of floats");
    call.require(
        !is_quantized(state.dtype) ||
            (row_size(state.shape) % params::QUANT_BLOCK == 0 && state.shape.elements() <= largest_quantized),
        operand_is(call, state_) + format(", but quantized rows are of multiples of {} elements, at most {} in all",
                                          params::QUANT_BLOCK, largest_quantized));
    call.require(row_size(state.shape) == row_size(x.shape),
                 operand_is(call, rows_) + ", but rows of the state " + state.text() + " have another size");
    require_step(call, step_);
    for (int i : {state_, rows_}) rows_of_each(call, i, step_);
    return {state};
}

// A row as the state stores it.
std::vector<double> stored(const OpCall& call, const HostTensor& rows, std::int64_t row, std::int64_t cols) {
    HostTensor one(TensorType{Shape{cols}, call.in(state_).dtype});
    std::copy_n(rows.data.begin() + row * cols, cols, one.data.begin());
    return is_quantized(one.type.dtype) ? widen(one.type, narrow(one)).data : one.data;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = row_size(call.in(rows_).shape), each = rows_of_each(call, rows_, step_),
                       context = rows_of_each(call, state_, step_);
    for (std::int64_t row = 0; row < call.in(rows_).shape[0]; ++row) {
        const std::int64_t b = row / each, r = row % each,
                           position = (call.has(step_) ? word(in[step_], STEP_POSITION, b) : 0) + r;
        if (position >= context || (call.has(step_) && r >= word(in[step_], STEP_VALID, b))) continue;
        const std::int64_t part = call.has(step_) && !call.attrs.flag("by_lane") ? sequence_of(in[step_], b) : b;
        std::ranges::copy(stored(call, in[rows_], row, cols), out[0].data.begin() + (part * context + position) * cols);
    }
}

Cost cost(const OpCall& call) {  // of the state only the rows that are written
    const double cells = static_cast<double>(call.in(rows_).shape.elements());
    const DTypeInfo& state = info(call.in(state_).dtype);
    return {0, cells * info(call.in(rows_).dtype).bytes, cells * state.bytes / state.elements};
}

LaunchPlan launch_by(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t step) {
    const std::int64_t cols = row_size(call.in(rows_).shape);
    Launch l{.shader = shader,
             .spec = params::WriteConstants{.lanes = workgroup_size(caps),
                                            .STATE_TYPE = storage_of(call, state_),
                                            .X_TYPE = storage_of(call, rows_),
                                            .STEP = step},
             .operands = {update(0), in(rows_), in(step_)},
             .groups = element_grid(call.in(rows_).shape.elements(), step, caps)};
    return l.with(params::WriteParams{.rows = u32(call.in(rows_).shape[0]),
                                      .cols = u32(cols),
                                      .state_rows = u32(rows_of_each(call, state_, step_)),
                                      .rows_each = u32(rows_of_each(call, rows_, step_)),
                                      .by_lane = call.attrs.flag("by_lane")});
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    if (is_quantized(call.in(state_).dtype)) return launch_by(call, caps, "write_quantized", params::QUANT_BLOCK);
    return launch_by(call, caps, "write", step_of(row_size(call.in(rows_).shape)));
}

std::vector<Case> cases() {
    const auto fixed = [](Shape shape) { return Case::Input{.type = TensorType{shape}, .fixed_type = true}; };
    return {
        {.name = "4 rows of 2x24", .inputs = {weights({9, 2, 24}), floats({4, 2, 24}), step_of_case(3, 4)}},
        {.name = "3 of 8 rows from f32, odd width", .inputs = {weights({20, 33}), fixed({8, 33}), step_of_case(7, 3)}},
        {.name = "f32 rows of 64", .inputs = {weights({5, 64}), fixed({1, 64}), step_of_case(4, 1)}},
        {.name = "4 and 3 of 4 rows of 2 sequences, the first beyond its part",
         .inputs = {weights({18, 2, 24}), floats({8, 2, 24}), steps_of_case({step_of_case(8, 4), step_of_case(3, 3)})}},
        {.name = "2 sequences in reverse",
         .inputs = {weights({18, 2, 24}), floats({8, 2, 24}),
                    reversed_lanes(steps_of_case({step_of_case(5, 4), step_of_case(3, 2)}))}},
        {.name = "2 sequences in reverse, into a result of the run",
         .attrs = {{"by_lane", true}},
         .inputs = {weights({18, 2, 24}), floats({8, 2, 24}),
                    reversed_lanes(steps_of_case({step_of_case(5, 4), step_of_case(3, 2)}))}},
        {.name = "beyond the state", .inputs = {floats({6, 5}), floats({4, 5}), step_of_case(5, 4)}},
        {.name = "a number a row", .inputs = {floats({12}), floats({5}), step_of_case(2, 5)}},
        {.name = "without a step", .inputs = {weights({4, 8}), floats({2, 8})}},
        {.name = "4 rows of 2x48, quantized",
         .inputs = {weights_of(DType::q8_0, {9, 2, 48}), fixed({4, 2, 48}), step_of_case(3, 4)}},
        {.name = "4 rows of 2x48, quantized to 4 bits",
         .inputs = {weights_of(DType::q4_0, {9, 2, 48}), fixed({4, 2, 48}), step_of_case(3, 4)}},
        {.name = "2 sequences in reverse, quantized, zeros",
         .inputs = {weights_of(DType::q8_0, {18, 32}), filled_with(TensorType{Shape{8, 32}}, std::vector<double>(256)),
                    reversed_lanes(steps_of_case({step_of_case(5, 4), step_of_case(3, 2)}))}},
        {.name = "nothing valid", .inputs = {weights({4, 8}), floats({2, 8}), step_of_case(1, 0)}},
    };
}

}  // namespace

const OpDef write_op =
    define_op("write", "state[position + r] = x_r for the valid rows of a run, in the state's storage type",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state,
              {.step = step_, .context_rows = {state_}, .alias = {state_}});

}  // namespace internal::ops::write

Tensor write(Tensor state, Tensor rows, Tensor step, SourceLocation where) {
    const Graph& graph = state.graph();
    Attrs attrs;
    if (graph.value(graph.storage(state.id())).kind != ValueKind::state) attrs.set("by_lane", true);
    return add_call(state.graph(), write_op, {state, rows, step}, attrs, where)[0];
}

}  // namespace vantage
