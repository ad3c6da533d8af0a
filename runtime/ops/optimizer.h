// Updates of parameters by their gradients.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::adam {
extern const OpDef adam_op;
VANTAGE_OPERANDS(x_, mean_, variance_, gradient_, train_);
}  // namespace ops::adam

namespace ops::sgd {
extern const OpDef sgd_op;
VANTAGE_OPERANDS(x_, velocity_, gradient_, train_);
}  // namespace ops::sgd

using ops::adam::adam_op, ops::sgd::sgd_op;

/// The next versions of x and its moments, after begin_update.
struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
    bool decoupled = true;  ///< AdamW; else the decay is a part of the gradient
};
struct AdamState {
    Tensor x, mean, variance;
};
AdamState adam(const AdamState& state, Tensor gradient, Tensor train, const AdamOptions& options, SourceLocation where);

struct SgdOptions {
    double momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false;
};
struct SgdState {
    Tensor x, velocity;  ///< empty without momentum
};
SgdState sgd(const SgdState& state, Tensor gradient, Tensor train, const SgdOptions& options, SourceLocation where);

}  // namespace vantage::internal
