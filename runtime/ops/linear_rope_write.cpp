// The queries, keys and values of one token of each of m sequences, with what comes before their attention, in the
// launch of joint_linear:
//   q = rope(x w_0ᵀ + bias_0)   and, at the token's position in its sequence's caches,
//   k = rope(x w_1ᵀ + bias_1),  v = x w_2ᵀ + bias_2
// x [m, k], w_i [heads_i D, k]; q [m, heads, D]. It has no function of the API: runtime/graph/merge_projections.cpp
// makes it. A launch of its own for the turning, and its barrier, would cost more than its work.
#include "runtime/base/format.h"
#include "runtime/ops/joint_linear.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/step.h"

namespace vantage::internal {

namespace ops::linear_rope_write {
namespace {

// The products alone.
OpCall products_of(const OpCall& call) {
    OpCall products = call;
    products.op = &joint_linear_op;
    products.inputs.resize(table_);
    products.outputs = joint_linear_op.infer(products);
    return products;
}
// The rest, from the products' results on: rows of a token become rows of heads.
OpCall rotation_of(const OpCall& call, const OpCall& products) {
    const std::int64_t width = call.attrs.integer("head_width", 0);
    const auto heads = [&](int i) {
        const TensorType& y = products.out(i);
        call.require(width > 0 && y.shape[1] % width == 0, "rows of " + y.text() + " are not heads of head_width");
        return TensorType{Shape{y.shape[0], y.shape[1] / width, width}, y.dtype};
    };
    OpCall rotation = call;
    rotation.op = &rope_write_op;
    rotation.inputs = {heads(1), call.in(table_), call.in(step_),   call.in(k_state_),
                       heads(0), heads(2),        call.in(v_state_)};
    rotation.outputs = rope_write_op.infer(rotation);
    return rotation;
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() == 2 && call.has(w0_ + 2), "three weights, and x [rows, features], not " + x.text());
    std::vector<TensorType> results = rotation_of(call, products_of(call)).outputs;
    call.require(!call.attrs.flag("inverse"), "it turns forwards only");
    call.require(x.shape[0] == sequences_of(call, step_),
                 operand_is(call, x_) + ", but must have one row for each sequence of the step");
    call.require(results[q_out_].shape[-1] % widths == 0 && call.in(table_).shape[1] % widths == 0,
                 format("widths of heads and of their turning parts must be multiples of {}", widths));
    return results;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const OpCall products = products_of(call), rotation = rotation_of(call, products);
    std::vector<HostTensor> y = run_reference(products, in.first(table_));
    y[0].type = rotation.in(rope_write::q_), y[1].type = rotation.in(rope_write::x_),
    y[2].type = rotation.in(rope_write::v_);
    const std::vector<HostTensor> rows{y[1], in[table_], in[step_], in[k_state_], y[0], y[2], in[v_state_]};
    rope_write_op.reference(rotation, rows, out);
}

Cost cost(const OpCall& call) {
    const OpCall products = products_of(call), rotation = rotation_of(call, products);
    Cost sum = joint_linear_op.cost(products);
    sum += rope_write_op.cost(rotation);
    double between = 0;  // bytes of the products, which are neither written nor read
    for (const TensorType& y : products.outputs) between += static_cast<double>(y.bytes());
    sum.bytes_written -= between, sum.bytes_read -= between;
    return sum;
}

std::vector<Case> cases() {
    const auto two = [] { return steps_of_case({step_of_case(5, 1), step_of_case(11, 1)}); };
    return {{.name = "neox dim=16 of 1x64, bias",
             .attrs = {{"head_width", std::int64_t{16}}},
             .inputs = {floats_of(DType::f32, {1, 64}),
                        floats_of(DType::f16, {64, 64}),
                        floats_of(DType::f16, {32, 64}),
                        floats_of(DType::f16, {32, 64}),
                        floats_of(DType::f16, {64}),
                        {},
                        floats_of(DType::f16, {32}),
                        angles_of_case(12, 16),
                        step_of_case(7, 1),
                        weights({10, 2, 16}),
                        weights({10, 2, 16})}},
            {.name = "gptj dim=24 rotary=16 of 2x35, sequences in reverse, one to the end of its cache",
             .attrs = {{"head_width", std::int64_t{24}}, {"interleaved", true}},
             .inputs = {floats_of(DType::f32, {2, 35}),
                        floats_of(DType::f32, {72, 35}),
                        floats_of(DType::f32, {24, 35}),
                        floats_of(DType::f32, {24, 35}),
                        {},
                        {},
                        {},
                        angles_of_case(16, 16),
                        reversed_lanes(two()),
                        weights({24, 24}),
                        weights({24, 24})}},
            {.name = "neox dim=16 rotary=8 of 2x96, beyond the table and the cache",
             .attrs = {{"head_width", std::int64_t{16}}},
             .inputs = {floats_of(DType::f32, {2, 96}),
                        weights_of(DType::q8_0, {32, 96}),
                        weights_of(DType::q8_0, {16, 96}),
                        weights_of(DType::q8_0, {16, 96}),
                        {},
                        floats_of(DType::f32, {16}),
                        {},
                        angles_of_case(9, 8),
                        two(),
                        weights({16, 1, 16}),
                        weights({16, 1, 16})}},
            {.name = "gptj dim=8 of 1x96, no token",
             .attrs = {{"head_width", std::int64_t{8}}, {"interleaved", true}},
             .inputs = {floats_of(DType::f32, {1, 96}),
                        weights_of(DType::q4_k, {16, 96}),
                        weights_of(DType::q4_k, {8, 96}),
                        weights_of(DType::q4_k, {8, 96}),
                        {},
                        {},
                        {},
                        angles_of_case(9, 8),
                        step_of_case(3, 0),
                        weights({6, 1, 8}),
                        weights({6, 1, 8})}}};
}

}  // namespace

const OpDef linear_rope_write_op = define_op(
    "linear_rope_write",
    "q = rope(x w_0^T + bias_0); state[position] = rope(x w_1^T + bias_1) and x w_2^T + bias_2, for one token "
    "of each sequence (Su et al. 2021)",
    operand_names, infer, reference, cost, joint_linear::kernels(), cases, of_fusion,
    {.step = step_, .context_rows = {table_, k_state_, v_state_}, .alias = {k_state_, v_state_}});

}  // namespace ops::linear_rope_write

}  // namespace vantage::internal
