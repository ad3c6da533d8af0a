// Some columns of every row.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::columns {
extern const OpDef columns_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::columns

using ops::columns::columns_op;

}  // namespace vantage::internal
