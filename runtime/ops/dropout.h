// Dropout by counted random numbers: the same elements in the forward and the backward pass, whatever the kernel.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::dropout {
extern const OpDef dropout_op;
VANTAGE_OPERANDS(x_, train_);
}  // namespace ops::dropout

/// u32 [DROPOUT_WORDS] (shaders/params/dropout.h), for kernels that drop elements themselves (attention): seed, site,
/// number of the micro-batch, threshold and factor of `dropout`.
namespace ops::dropout_draw {
extern const OpDef dropout_draw_op;
VANTAGE_OPERANDS(train_);
}  // namespace ops::dropout_draw

using ops::dropout::dropout_op, ops::dropout_draw::dropout_draw_op;

/// 0 or 1 / (1 - probability): the factor of an element by these words.
double dropout_factor(const HostTensor& words, std::int64_t row, std::int64_t col);
/// The words of a case's dropout of one half.
Case::Input dropout_of_case();

struct DropoutOptions {
    double probability = 0;          ///< from 0 to below 1
    std::uint64_t seed = 0;          ///< of a training run
    std::int64_t site = 0;           ///< each dropout of a graph draws other numbers
    std::int64_t micro_batches = 1;  ///< of a step: each of them draws other numbers
};

/// y = x / (1 - probability), or 0 with this probability, for each element of x [..., width] on its own. The number of
/// an element is Philox4x32-10 of (row, column / 4, site, step · micro_batches + micro-batch), word column mod 4; it is
/// dropped below probability · 2^32. `train` is the state of training (train_step.h); without it step 0 is drawn.
Tensor dropout(Tensor x, Tensor train, const DropoutOptions& options, SourceLocation where);
Tensor dropout_draw(Tensor train, const DropoutOptions& options, SourceLocation where);

}  // namespace vantage::internal
