// Sums over rows: what gradients of values that many rows share are made of.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::column_sums {
extern const OpDef column_sums_op;
VANTAGE_OPERANDS(x_, y_, mean_, rstd_);
}  // namespace ops::column_sums

using ops::column_sums::column_sums_op;

/// s_c = Σ_r x_rc, or Σ_r x_rc (y_rc - mean_r) rstd_r where these are there; x and y [.., cols], mean and rstd f32
/// [rows] → f32 [cols].
Tensor column_sums(Tensor x, Tensor y, Tensor mean, Tensor rstd, SourceLocation where);
/// Sums of x, or of the products x y, over the leading dimensions that `shape` has not, as an f32 tensor of this shape:
/// the gradient of an operand that was repeated over them.
Tensor sum_to(const Shape& shape, Tensor x, Tensor y, SourceLocation where);

}  // namespace vantage::internal
