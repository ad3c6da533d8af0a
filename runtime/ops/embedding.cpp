// Token embedding, with learned positions where the model has them.
//   y_r = scale w[ids_r] + positions[position_offset + r]
// With a step, rows count from the position of their sequence.
// Vaswani et al. 2017, section 3.4 (scale); Radford et al. 2019 (learned positions).
#include "runtime/ops/embedding.h"

#include "runtime/base/format.h"
#include "runtime/ops/scatter_rows.h"
#include "runtime/ops/step.h"
#include "shaders/params/embedding.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::embedding {
namespace {

DType result_type(const OpCall& call) {
    const std::string name = call.attrs.text("dtype", "f32");
    call.require(name == "f32" || name == "f16", "dtype is " + name + ", but must be f32 or f16");
    return name == "f16" ? DType::f16 : DType::f32;
}

std::int64_t rows_of(const OpCall& call) {
    return call.has(step_) ? call.attrs.integer("rows") : call.in(ids_).shape.elements();
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &ids = call.in(ids_), &w = call.in(w_);
    require_step(call, step_);
    const bool own_ids = call.has(step_) && ids.shape.rank() == 2 && is_row_of_each(call, ids_, step_);
    call.require(
        (ids.shape.rank() == 1 || own_ids) && ids.dtype == DType::i32,
        operand_is(call, ids_) + ", but must be i32 [tokens], or [sequences, tokens] beside a step of several");
    require_weights(call, w_);
    call.require(w.shape.rank() == 2, operand_is(call, w_) + ", but must be [vocabulary, width]");
    const std::int64_t rows = rows_of(call), offset = call.attrs.integer("position_offset");
    call.require(rows >= 0 && offset >= 0,
                 format("rows = {} and position_offset = {} must be 0 or more", rows, offset));
    call.require(rows % sequences_of(call, step_) == 0,
                 format("{} rows do not divide evenly among {} sequences", rows, sequences_of(call, step_)));
    if (call.has(positions_)) {
        const TensorType& positions = call.in(positions_);
        call.require(positions.shape.rank() == 2 && positions.shape[1] == w.shape[1] && is_float(positions.dtype),
                     operand_is(call, positions_) + ", but rows must be as wide as those of w " + w.text());
        call.require(call.has(step_) || offset + rows <= positions.shape[0],
                     format("{}, but position {} is wanted", operand_is(call, positions_), offset + rows - 1));
    }
    return {{Shape{rows, w.shape[1]}, result_type(call)}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t vocab = call.in(w_).shape[0], width = call.in(w_).shape[1];
    const std::int64_t each = call.out(0).shape[0] / sequences_of(call, step_);
    const std::int64_t tokens = call.in(ids_).shape[-1], stride = call.in(ids_).shape.rank() == 2 ? tokens : 0,
                       table = call.has(positions_) ? call.in(positions_).shape[0] : 0;
    for (std::int64_t row = 0; row < call.out(0).shape[0]; ++row) {
        const std::int64_t b = row / each, r = row % each;
        if (call.has(step_) && r >= word(in[step_], STEP_VALID, b)) continue;
        const std::int64_t place = (call.has(step_) ? word(in[step_], STEP_POSITION, b) : 0) + r,
                           position = place + call.attrs.integer("position_offset");
        const std::int64_t id = place < tokens
                                    ? static_cast<std::int64_t>(
                                          in[ids_][(call.has(step_) ? sequence_of(in[step_], b) : b) * stride + place])
                                    : -1;
        if (id < 0 || id >= vocab || (call.has(positions_) && position >= table)) continue;
        for (std::int64_t col = 0; col < width; ++col)
            out[0][row * width + col] = call.attrs.number("scale", 1) * in[w_][id * width + col] +
                                        (call.has(positions_) ? in[positions_][position * width + col] : 0);
    }
}

Cost cost(const OpCall& call) {  // of the tables only the rows that are wanted are read
    const double rows = static_cast<double>(call.out(0).shape[0]),
                 cells = static_cast<double>(call.out(0).shape.elements());
    Cost cost{cells, 4 * rows, static_cast<double>(call.out(0).bytes())};
    for (int i : {w_, positions_})
        if (call.has(i))
            cost.bytes_read += static_cast<double>(TensorType{call.out(0).shape, call.in(i).dtype}.bytes());
    if (call.has(positions_)) cost.flops += cells;
    return cost;
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& y = call.out(0);
    const Shape& ids = call.in(ids_).shape;
    const std::uint32_t step = step_of(y.shape[1]);
    const auto count = [&](int i) { return u32(call.has(i) ? call.in(i).shape[0] : 0); };
    Launch l{.shader = "embedding",
             .spec = params::EmbeddingConstants{.lanes = workgroup_size(caps),
                                                .W_TYPE = storage_of(call, w_),
                                                .POSITION_TYPE = storage_of(call, {positions_, w_}),
                                                .Y_TYPE = storage_of(y.dtype),
                                                .STEP = step},
             .operands = {in(ids_), in(w_), in(positions_), in(step_), out(0)},
             .groups = element_grid(y.shape.elements(), step, caps)};
    return l.with(params::EmbeddingParams{.rows = u32(y.shape[0]),
                                          .width = u32(y.shape[1]),
                                          .vocab = count(w_),
                                          .id_count = u32(ids[-1]),
                                          .rows_each = u32(y.shape[0] / sequences_of(call, step_)),
                                          .id_stride = ids.rank() == 2 ? u32(ids[1]) : 0,
                                          .position_offset = u32(call.attrs.integer("position_offset")),
                                          .position_rows = count(positions_),
                                          .scale = static_cast<float>(call.attrs.number("scale", 1))});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.call.has(step_), of_a_state);
    const Tensor &dy = g.gradients[0], &w = g.inputs[w_], &positions = g.inputs[positions_];
    std::vector<Tensor> result(3);
    if (g.needed[w_])
        result[w_] =
            internal::scatter_rows(dy, g.inputs[ids_], w.shape()[0], g.call.attrs.number("scale", 1), 0, g.where);
    if (g.needed[positions_])
        result[positions_] = internal::scatter_rows(dy, g.inputs[ids_], positions.shape()[0], 1,
                                                    g.call.attrs.integer("position_offset"), g.where, w.shape()[0]);
    return result;
}

std::vector<Case> cases() {
    const Case::Input odd_ids = list_of(DType::i32, {-1, 0, 12, 13, 70000}), own_ids = integers_below({2, 20}, 17);
    Case::Input quantized = weights({101, 96});  // three blocks a row: rows begin within groups
    quantized.quantized = DType::q8_0;
    return {
        {.name = "tokens=7 width=96", .inputs = {integers_below({7}, 101), quantized}},
        {.name = "q6_k, width=96", .inputs = {integers_below({7}, 101), weights_of(DType::q6_k, {101, 96})}},
        {.name = "positions, scale, width=33",
         .attrs = {{"scale", 2.5}, {"position_offset", 3}},
         .inputs = {integers_below({11}, 29), floats({29, 33}), floats({14, 33})}},
        {.name = "ids outside the vocabulary", .inputs = {odd_ids, floats({13, 7}), floats({5, 7})}},
        {.name = "step, 3 of 4 rows, dtype=f16",
         .attrs = {{"rows", 4}, {"dtype", "f16"}},
         .inputs = {integers_below({20}, 17), floats({17, 64}), floats({20, 64}), step_of_case(9, 3)}},
        {.name = "2 sequences, 3 and 1 of 4 rows, dtype=f16",
         .attrs = {{"rows", 8}, {"dtype", "f16"}},
         .inputs = {own_ids, floats({17, 64}), floats({20, 64}),
                    steps_of_case({step_of_case(9, 3), step_of_case(0, 1)})}},
        {.name = "2 sequences in reverse, 3 and 1 of 4 rows",
         .attrs = {{"rows", 8}, {"dtype", "f16"}},
         .inputs = {own_ids, floats({17, 64}), floats({20, 64}),
                    reversed_lanes(steps_of_case({step_of_case(9, 3), step_of_case(0, 1)}))}},
        {.name = "2 sequences, ids of both",
         .attrs = {{"rows", 8}, {"dtype", "f16"}},
         .inputs = {integers_below({20}, 17), floats({17, 64}), floats({20, 64}),
                    steps_of_case({step_of_case(2, 4), step_of_case(16, 2)})}},
        {.name = "step beyond the table",
         .attrs = {{"rows", 4}, {"position_offset", 3}},
         .inputs = {integers_below({12}, 17), floats({17, 20}), floats({12, 20}), step_of_case(7, 4)}},
        {.name = "no tokens", .inputs = {integers_below({0}, 5), floats({5, 8})}},
    };
}

}  // namespace

const OpDef embedding_op =
    define_op("embedding", "y_r = scale w[ids_r] + positions[offset + r] (Vaswani et al. 2017; Radford et al. 2019)",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient,
              {.step = step_, .context_rows = {ids_, positions_}});

}  // namespace internal::ops::embedding

Tensor embedding(Tensor ids, Tensor w, Tensor positions, EmbeddingOptions options, SourceLocation where) {
    Attrs attrs{
        {"scale", options.scale}, {"position_offset", options.position_offset}, {"dtype", name_of(options.dtype)}};
    if (options.step) attrs.set("rows", options.rows);
    return add_call(ids.graph(), embedding_op, {ids, w, positions, options.step}, attrs, where)[0];
}

}  // namespace vantage
