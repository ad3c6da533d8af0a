// Gradients of layer_norm and rms_norm by what is normalised.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::norm_backward {
extern const OpDef norm_backward_op;
VANTAGE_OPERANDS(dy_, x_, gamma_, mean_, rstd_);
}  // namespace ops::norm_backward

using ops::norm_backward::norm_backward_op;

/// The gradients by x, gamma and beta of y = (x - mean) rstd (gamma + offset) + beta over rows; mean is empty for
/// rms_norm. What is not needed is empty.
struct NormGradients {
    Tensor x, gamma, beta;
};
NormGradients norm_gradients(const GradientCall& call, Tensor x, Tensor gamma, Tensor mean, Tensor rstd, double offset,
                             std::span<const int> operands);

}  // namespace vantage::internal
