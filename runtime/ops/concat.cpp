// Two tensors one after the other along an axis: a vision transformer's class token before its patches, or the features
// of two vectors.
//   y = [a; b], a [.., n, ..], b [.., m, ..] -> y [.., n + m, ..]
#include "runtime/ops/concat.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/concat.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::concat {
namespace {

int axis_of(const OpCall& call) {
    const int rank = call.in(b_).shape.rank();
    const std::int64_t axis = call.attrs.integer("axis", 0), counted = axis < 0 ? axis + rank : axis;
    call.require(counted >= 0 && counted < rank, operand_is(call, b_) + format(", but the axis is {}", axis));
    return static_cast<int>(counted);
}
// Elements from one place of the axes before to the next.
std::int64_t block_of(const Shape& shape, int axis) {
    std::int64_t size = 1;
    for (int i = axis; i < shape.rank(); ++i) size *= shape[i];
    return size;
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    Shape y = call.in(b_).shape, rest = call.in(a_).shape;
    call.require(y.rank() >= 1 && y.rank() == rest.rank(), operand_is(call, a_) + ", but " + operand_is(call, b_));
    const int axis = axis_of(call);
    const std::int64_t both = rest[axis] + y[axis];
    rest[axis] = y[axis];
    call.require(rest == y,
                 operand_is(call, a_) + ", but " + operand_is(call, b_) +
                     (axis == 0 ? ": only the first may differ" : format(": only axis {} may differ", axis)));
    y[axis] = both;
    return {{y, call.in(b_).dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const int axis = axis_of(call);
    const std::int64_t a = block_of(call.in(a_).shape, axis), b = block_of(call.in(b_).shape, axis);
    for (std::int64_t i = 0; i < call.out(0).shape.elements(); ++i)
        if (const std::int64_t block = i / (a + b), place = i % (a + b); place < a)
            out[0][i] = in[a_][block * a + place];
        else
            out[0][i] = in[b_][block * b + place - a];
}

Cost cost(const OpCall& call) { return streaming_cost(call, 0); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& y = call.out(0).shape;
    const int axis = axis_of(call);
    const std::int64_t a = block_of(call.in(a_).shape, axis), b = block_of(call.in(b_).shape, axis);
    const std::uint32_t step = std::min(step_of(a), step_of(b));
    Launch l{.shader = "concat",
             .spec = params::ConcatConstants{.lanes = workgroup_size(caps),
                                             .A_TYPE = storage_of(call, a_),
                                             .B_TYPE = storage_of(call, b_),
                                             .STEP = step},
             .operands = {in(a_), in(b_), out(0)},
             .groups = element_grid(y.elements(), step, caps)};
    return l.with(params::ConcatParams{.count = u32(y.elements()), .a_block = u32(a), .b_block = u32(b)});
}

// Their parts of dy: columns, where all axes from this one on are one.
std::vector<Tensor> gradient(const GradientCall& g) {
    const int axis = axis_of(g.call);
    const Tensor &a = g.inputs[a_], &b = g.inputs[b_], &dy = g.gradients[0];
    const std::int64_t of_a = block_of(a.shape(), axis), of_b = block_of(b.shape(), axis);
    if (of_a == 0) return {{}, g.needed[b_] ? dy : Tensor()};
    if (of_b == 0) return {dy};
    Graph graph = dy.graph();
    const Tensor rows = graph.reshape(dy, {dy.shape().elements() / (of_a + of_b), of_a + of_b}, g.where);
    const auto part = [&](const Tensor& x, std::int64_t first, std::int64_t count) {
        return graph.reshape(vantage::columns(rows, first, count, g.where), x.shape(), g.where);
    };
    return {g.needed[a_] ? part(a, 0, of_a) : Tensor(), g.needed[b_] ? part(b, of_a, of_b) : Tensor()};
}

std::vector<Case> cases() {
    return {
        {.name = "a row before 6 of 48", .inputs = {weights({1, 48}), floats({6, 48})}},
        {.name = "rows of 3x11", .inputs = {weights({2, 3, 11}), floats({5, 3, 11})}},
        {.name = "nothing first", .inputs = {weights({0, 8}), floats({3, 8})}},
        {.name = "nothing behind", .inputs = {weights({3, 8}), floats({0, 8})}},
        {.name = "12 and 20 features", .attrs = {{"axis", -1}}, .inputs = {weights({5, 12}), floats({5, 20})}},
        {.name = "the middle of three axes, odd",
         .attrs = {{"axis", 1}},
         .inputs = {weights({4, 2, 3}), floats({4, 5, 3})}},
    };
}

}  // namespace

const OpDef concat_op = define_op("concat", "y = [a; b] along an axis, in b's storage type", operand_names, infer,
                                  reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace internal::ops::concat

Tensor concat(Tensor a, Tensor b, SourceLocation where) { return concat(a, b, 0, where); }
Tensor concat(Tensor a, Tensor b, int axis, SourceLocation where) {
    Attrs attrs;
    if (axis != 0) attrs.set("axis", axis);
    return add_call(a.graph(), concat_op, {a, b}, attrs, where)[0];
}

}  // namespace vantage
