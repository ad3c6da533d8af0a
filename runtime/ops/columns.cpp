// Some columns of every row: a part of what one product made of several.
//   y = x[.., first : first + count]
#include "runtime/ops/columns.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/columns.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::columns {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    TensorType y = call.in(x_);
    const std::int64_t first = call.attrs.integer("first"), count = call.attrs.integer("count");
    call.require(y.shape.rank() >= 1, operand_is(call, x_) + ", which has no columns");
    call.require(first >= 0 && count >= 1 && count <= y.shape[-1] && first <= y.shape[-1] - count,
                 operand_is(call, x_) + format(", which has no columns {} … {}", first, first + count - 1));
    y.shape[-1] = count;
    return {y};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t count = call.out(0).shape[-1], cols = call.in(x_).shape[-1];
    for (std::int64_t i = 0; i < call.out(0).shape.elements(); ++i)
        out[0][i] = in[x_][i / count * cols + call.attrs.integer("first") + i % count];
}

Cost cost(const OpCall& call) {
    const auto bytes = static_cast<double>(call.out(0).bytes());
    return {0, bytes, bytes};
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape &x = call.in(x_).shape, &y = call.out(0).shape;
    const std::int64_t first = call.attrs.integer("first");
    const std::uint32_t step = first % 4 == 0 && x[-1] % 4 == 0 ? step_of(y[-1]) : 1;
    Launch l{
        .shader = "columns",
        .spec = params::ColumnsConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, x_), .STEP = step},
        .operands = {in(x_), out(0)},
        .groups = element_grid(y.elements(), step, caps)};
    call.require(x.elements() < std::int64_t{1} << 32,
                 operand_is(call, x_) + ", but must have less than 2^32 elements");
    return l.with(params::ColumnsParams{
        .count = u32(y.elements()), .cols = u32(x[-1]), .first = u32(first), .width = u32(y[-1])});
}

// dy between columns of zeros.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Shape& x = g.inputs[x_].shape();
    const std::int64_t first = g.call.attrs.integer("first"), count = g.call.attrs.integer("count"),
                       rows = x.elements() / x[-1], behind = x[-1] - first - count;
    Graph graph = g.inputs[x_].graph();
    Tensor dx = graph.reshape(g.gradients[0], {rows, count}, g.where);
    if (first > 0) dx = vantage::concat(zeros(graph, {rows, first}, g.where), dx, 1, g.where);
    if (behind > 0) dx = vantage::concat(dx, zeros(graph, {rows, behind}, g.where), 1, g.where);
    return {graph.reshape(dx, x, g.where)};
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& x, std::int64_t first, std::int64_t count) {
        return Case{.name = name, .attrs = {{"first", first}, {"count", count}}, .inputs = {floats(x)}};
    };
    return {of("the second half of 7x48", {7, 48}, 24, 24), of("3 of 2x5x11", {2, 5, 11}, 7, 3),
            of("whole steps from an odd column", {5, 16}, 3, 8), of("one row", {9}, 0, 2), of("no rows", {0, 8}, 4, 4)};
}

}  // namespace

const OpDef columns_op = define_op("columns", "y = x[.., first : first + count]", operand_names, infer, reference, cost,
                                   {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace internal::ops::columns

Tensor columns(Tensor x, std::int64_t first, std::int64_t count, SourceLocation where) {
    return add_call(x.graph(), columns_op, {x}, {{"first", first}, {"count", count}}, where)[0];
}

}  // namespace vantage
