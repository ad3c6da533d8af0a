// The rows of a quantised cache as floats, in f32 or f16:
//   y_r = x_r for the rows r that hold keys, of the sequence of each lane of the run
// It has no function of the API: runtime/models/model_builder.cpp puts it before what reads floats alone.
#include "runtime/ops/dequantize.h"

#include "runtime/ops/step.h"
#include "shaders/params/dequantize.h"

namespace vantage::internal {

namespace ops::dequantize {
namespace {

DType type_of(const OpCall& call) { return call.attrs.flag("f16") ? DType::f16 : DType::f32; }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    require_weights(call, x_);
    call.require(x.shape.rank() >= 1 && row_size(x.shape) % 4 == 0,
                 operand_is(call, x_) + ", but must be rows of a multiple of 4 elements");
    require_step(call, step_);
    rows_of_each(call, x_, step_);
    return {{x.shape, type_of(call)}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = row_size(call.in(x_).shape), each = rows_of_each(call, x_, step_);
    for (std::int64_t row = 0; row < call.in(x_).shape[0]; ++row) {
        const std::int64_t lane = row / each, keys = call.has(step_) ? word(in[step_], STEP_KEYS, lane) : each,
                           part = call.has(step_) ? sequence_of(in[step_], lane) : lane;
        for (std::int64_t col = 0; col < cols; ++col)
            out[0][row * cols + col] = row % each < keys ? in[x_][(part * each + row % each) * cols + col] : 0;
    }
}

Cost cost(const OpCall& call) {
    Cost all{0, static_cast<double>(call.in(x_).bytes()), static_cast<double>(call.out(0).bytes())};
    all.grows_with_cache = call.has(step_);
    return all;
}

constexpr std::int64_t most_elements = 1 << 20;  // of one round: enough to occupy a GPU

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{.shader = "dequantize",
             .spec = params::DequantizeConstants{.lanes = workgroup_size(caps),
                                                 .X_TYPE = storage_of(call, x_),
                                                 .Y_TYPE = storage_of(type_of(call))},
             .operands = {in(x_), in(step_), out(0)},
             .groups = element_grid(std::min(call.in(x_).shape.elements(), most_elements), 4, caps)};
    return l.with(params::DequantizeParams{.rows = u32(call.in(x_).shape[0]),
                                           .cols = u32(row_size(call.in(x_).shape)),
                                           .rows_each = u32(rows_of_each(call, x_, step_))});
}

std::vector<Case> cases() {
    const auto of = [](DType type, const Shape& shape) { return weights_of(type, shape); };
    return {{.name = "9 rows of 2x48", .inputs = {of(DType::q8_0, {9, 2, 48})}},
            {.name = "4 bits, in f16", .attrs = {{"f16", true}}, .inputs = {of(DType::q4_0, {9, 2, 48})}},
            {.name = "more than one round", .inputs = {of(DType::q8_0, {most_elements / 1024 + 9, 1024})}},
            {.name = "5 of 9 rows", .inputs = {of(DType::q8_0, {9, 96}), step_of_case(3, 2)}},
            {.name = "2 sequences in reverse, in f16",
             .attrs = {{"f16", true}},
             .inputs = {of(DType::q8_0, {18, 1, 32}),
                        reversed_lanes(steps_of_case({step_of_case(5, 2), step_of_case(3, 1)}))}}};
}

}  // namespace

const OpDef dequantize_op = define_op(
    "dequantize", "y = x in f32 or f16, of a quantised cache the rows that hold keys", operand_names, infer, reference,
    cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state, {.step = step_, .context_rows = {x_}});

int cache_of(const Graph& graph, int keys) {
    const int id = graph.storage(keys);
    const int node = graph.value(id).node;
    if (node < 0 || graph.nodes()[static_cast<std::size_t>(node)].op != &dequantize_op) return keys;
    return graph.nodes()[static_cast<std::size_t>(node)].inputs[x_];
}

}  // namespace ops::dequantize

Tensor dequantize(Tensor x, Tensor step, DType type, SourceLocation where) {
    Attrs attrs;
    if (type == DType::f16) attrs.set("f16", true);
    return add_call(x.graph(), dequantize_op, {x, step}, attrs, where)[0];
}

}  // namespace vantage::internal
