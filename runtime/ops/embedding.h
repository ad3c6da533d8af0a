// Token embedding, with learned positions where the model has them.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::embedding {
extern const OpDef embedding_op;
VANTAGE_OPERANDS(ids_, w_, positions_, step_);
}  // namespace ops::embedding

using ops::embedding::embedding_op;

}  // namespace vantage::internal
