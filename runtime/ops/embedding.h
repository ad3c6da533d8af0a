// Token embedding, with learned positions where the model has them.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef embedding_op;

namespace ops::embedding {
VANTAGE_OPERANDS(ids_, w_, positions_, step_);
}

}  // namespace vantage::internal
