// Rows added to those of a table: the gradient of an embedding.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::scatter_rows {
extern const OpDef scatter_rows_op;
VANTAGE_OPERANDS(x_, ids_);
}  // namespace ops::scatter_rows

using ops::scatter_rows::scatter_rows_op;

/// y_r = scale Σ_i [ids_i = r] x_i, in the order of i; x [n, width], ids i32 [n] → f32 [rows, width]. With `ids_below`
/// row i goes to row first + i instead, if its id is from 0 to below that.
Tensor scatter_rows(Tensor x, Tensor ids, std::int64_t rows, double scale, std::int64_t first, SourceLocation where,
                    std::int64_t ids_below = 0);

}  // namespace vantage::internal
