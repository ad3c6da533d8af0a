// Two tensors one after the other along their first axis: a vision transformer's class token before its patches.
//   y = [a; b], a [n, ..], b [m, ..] -> y [n + m, ..]
#include "runtime/ops/concat.h"

#include "runtime/ops/checks.h"
#include "shaders/params/concat.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::concat {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    Shape y = call.in(b_).shape, rest = call.in(a_).shape;
    call.require(y.rank() >= 1 && y.rank() == rest.rank(), operand_is(call, a_) + ", but " + operand_is(call, b_));
    const std::int64_t rows = rest[0] + y[0];
    rest[0] = y[0];
    call.require(rest == y, operand_is(call, a_) + ", but " + operand_is(call, b_) + ": only the first may differ");
    y[0] = rows;
    return {{y, call.in(b_).dtype}};
}

void reference(const OpCall&, std::span<const HostTensor> in, std::span<HostTensor> out) {
    out[0].data = in[a_].data;
    out[0].data.insert(out[0].data.end(), in[b_].data.begin(), in[b_].data.end());
}

Cost cost(const OpCall& call) { return streaming_cost(call, 0); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& y = call.out(0).shape;
    const std::uint32_t step = step_of(row_size(y));
    Launch l{.shader = "concat",
             .spec = params::ConcatConstants{.lanes = workgroup_size(caps),
                                             .A_TYPE = storage_of(call, a_),
                                             .B_TYPE = storage_of(call, b_),
                                             .STEP = step},
             .operands = {in(a_), in(b_), out(0)},
             .groups = element_grid(y.elements(), step, caps)};
    return l.with(params::ConcatParams{.count = u32(y.elements()), .a_count = u32(call.in(a_).shape.elements())});
}

std::vector<Case> cases() {
    return {
        {.name = "a row before 6 of 48", .inputs = {weights({1, 48}), floats({6, 48})}},
        {.name = "rows of 3x11", .inputs = {weights({2, 3, 11}), floats({5, 3, 11})}},
        {.name = "nothing first", .inputs = {weights({0, 8}), floats({3, 8})}},
        {.name = "nothing behind", .inputs = {weights({3, 8}), floats({0, 8})}},
    };
}

}  // namespace

const OpDef concat_op = define_op("concat", "y = [a; b] along the first axis, in b's storage type", operand_names,
                                  infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases);

}  // namespace internal::ops::concat

Tensor concat(Tensor a, Tensor b, SourceLocation where) { return add_call(a.graph(), concat_op, {a, b}, {}, where)[0]; }

}  // namespace vantage
