// Checks and choices that many ops share.
#pragma once

#include <initializer_list>
#include <string>

#include "runtime/base/at.h"
#include "runtime/base/quantize.h"
#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// "gamma is f32 [512]", the beginning of a message about operand `i`.
inline std::string operand_is(const OpCall& call, int i) {
    return std::string(at(call.op->operands, i)) + " is " + call.in(i).text();
}

/// Operand `i`, unless absent, must have this type: "lse is f32 [4, 2, 8], wanted f32 [4, 2]".
inline void require_type(const OpCall& call, int i, const TensorType& wanted) {
    if (call.has(i) && call.in(i) != wanted) call.fail(operand_is(call, i) + ", wanted " + wanted.text());
}
/// Operand `i`, unless absent, must have this shape: "gamma is f32 [512], wanted [768]".
inline void require_shape(const OpCall& call, int i, const Shape& wanted) {
    if (call.has(i) && call.in(i).shape != wanted) call.fail(operand_is(call, i) + ", wanted " + wanted.text());
}

/// All operands but `other` must be of a float type.
inline void require_floats(const OpCall& call, int other = -1) {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i)
        if (i != other && call.has(i) && !is_float(call.in(i).dtype))
            call.fail(operand_is(call, i) + ", but must be f32, f16 or bf16");
}

/// Operand `i` must be floats or quantized. Any shape is supported: elements are found by their index
/// (lib/quantized.glsl).
inline void require_weights(const OpCall& call, int i) {
    call.require(is_float(call.in(i).dtype) || is_quantized(call.in(i).dtype),
                 operand_is(call, i) + ", but must be f32, f16, bf16 or quantized");
}

/// Elements of one row: the sizes of all dimensions but the first.
inline std::int64_t row_size(const Shape& shape) {
    std::int64_t size = 1;
    for (int i = 1; i < shape.rank(); ++i) size *= shape[i];
    return size;
}

/// How many elements a kernel takes at a time (lib/steps.glsl): 4 where rows of `cols` begin on such a boundary.
inline std::uint32_t step_of(std::int64_t cols) { return cols % 4 == 0 ? 4 : 1; }

/// Storage of the first of these operands that is not absent, as a specialization constant: calls without an optional
/// operand share the pipelines of calls with it. Only the first may be quantized: biases of quantized matrices are not.
inline std::uint32_t storage_of(const OpCall& call, std::initializer_list<int> operands) {
    for (int i : operands)
        if (call.has(i) && (i == *operands.begin() || !is_quantized(call.in(i).dtype)))
            return storage_of(call.in(i).dtype);
    return storage_of(DType::f32);
}
inline std::uint32_t storage_of(const OpCall& call, int i) { return storage_of(call, {i}); }

/// A grid with one invocation for each `step` of `count` elements.
inline std::array<std::uint32_t, 3> element_grid(std::int64_t count, std::int64_t step, const Caps& caps) {
    return flat_grid(ceil_div(count, step * workgroup_size(caps)), caps);
}

}  // namespace vantage::internal
