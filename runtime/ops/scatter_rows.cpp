// Adds rows to those of a table of zeros, by their ids: the gradient of an embedding.
//   y_r = scale sum_i [ids_i = r] x_i, in the order of i
#include "runtime/ops/scatter_rows.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/scatter_rows.h"

namespace vantage::internal {

namespace ops::scatter_rows {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    require_floats(call, ids_);
    call.require(x.shape.rank() == 2, operand_is(call, x_) + ", but must be [n, width]");
    static_cast<void>(call.in(ids_));
    require_type(call, ids_, {Shape{x.shape[0]}, DType::i32});
    const std::int64_t rows = call.attrs.integer("rows"), first = call.attrs.integer("first");
    call.require(rows >= 0 && first >= 0, format("rows = {} and first = {} must be 0 or more", rows, first));
    return {{Shape{rows, x.shape[1]}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t width = call.in(x_).shape[1], rows = call.attrs.integer("rows");
    for (std::int64_t i = 0; i < call.in(x_).shape[0]; ++i) {
        const auto id = static_cast<std::int64_t>(in[ids_][i]);
        const std::int64_t below = call.attrs.integer("ids_below"), row = below == 0 ? id
                                                                          : id >= 0 && id < below
                                                                              ? call.attrs.integer("first") + i
                                                                              : -1;
        if (row < 0 || row >= rows) continue;
        for (std::int64_t col = 0; col < width; ++col)
            out[0][row * width + col] += call.attrs.number("scale", 1) * in[x_][i * width + col];
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape &x = call.in(x_).shape, &y = call.out(0).shape;
    const std::int64_t below = call.attrs.integer("ids_below");
    require_loops(call, caps, below == 0 ? x[0] : 1);
    Launch l{.shader = "scatter_rows",
             .spec =
                 params::ScatterRowsConstants{
                     .lanes = workgroup_size(caps, 64), .X_TYPE = storage_of(call, x_), .STEP = step_of(x[1])},
             .operands = {in(x_), in(ids_), out(0)},
             .groups = flat_grid(y[0], caps)};
    return l.with(params::ScatterRowsParams{.count = u32(x[0]),
                                            .rows = u32(y[0]),
                                            .width = u32(y[1]),
                                            .first = u32(call.attrs.integer("first")),
                                            .ids_below = u32(below),
                                            .scale = static_cast<float>(call.attrs.number("scale", 1))});
}

std::vector<Case> cases() {
    return {{.name = "40 rows to 7",
             .attrs = {{"rows", 7}, {"scale", 0.5}},
             .inputs = {floats({40, 96}), integers_below({40}, 7)}},
            {.name = "600 rows to 2, more than are listed",
             .attrs = {{"rows", 2}},
             .inputs = {floats({600, 12}), integers_below({600}, 2)}},
            {.name = "width 33", .attrs = {{"rows", 29}}, .inputs = {floats({11, 33}), integers_below({11}, 29)}},
            {.name = "ids outside",
             .attrs = {{"rows", 13}},
             .inputs = {floats({5, 8}), list_of(DType::i32, {-1, 0, 12, 13, 70000})}},
            {.name = "in order, from row 3",
             .attrs = {{"rows", 20}, {"first", 3}, {"ids_below", 9}},
             .inputs = {floats({14, 20}), integers_below({14}, 11, -1)}},
            {.name = "no rows", .attrs = {{"rows", 5}}, .inputs = {floats({0, 8}), integers_below({0}, 5)}}};
}

}  // namespace

const OpDef scatter_rows_op =
    define_op("scatter_rows", "y_r = scale sum_i [ids_i = r] x_i", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace ops::scatter_rows

Tensor scatter_rows(Tensor x, Tensor ids, std::int64_t rows, double scale, std::int64_t first, SourceLocation where,
                    std::int64_t ids_below) {
    return add_call(x.graph(), scatter_rows_op, {x, ids},
                    {{"rows", rows}, {"scale", scale}, {"first", first}, {"ids_below", ids_below}}, where)[0];
}

}  // namespace vantage::internal
