// Dropout by counted random numbers. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
// Overfitting" (2014).
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// y = x / (1 - probability), or 0 with this probability, for each element of x [..., width] on its own, by the words
/// of dropout_draw. The number of an element is Philox4x32-10 of (row, column / 4, site, micro-batch), word column mod
/// 4; it is dropped below probability · 2^32.
namespace ops::dropout {
extern const OpDef dropout_op;
VANTAGE_OPERANDS(x_, words_);
}  // namespace ops::dropout

/// u32 [DROPOUT_WORDS] (shaders/params/dropout.h): what kernels that drop elements draw by. `train` is the state of
/// training (train_step.h), by which micro-batches are counted; without it the first one is drawn.
namespace ops::dropout_draw {
extern const OpDef dropout_draw_op;
VANTAGE_OPERANDS(train_);
}  // namespace ops::dropout_draw

using ops::dropout::dropout_op, ops::dropout_draw::dropout_draw_op;

struct DropoutOptions {
    double probability = 0;          ///< from 0 to below 1
    std::uint64_t seed = 0;          ///< of a training run
    std::int64_t site = 0;           ///< each dropout of a graph draws other numbers
    std::int64_t micro_batches = 1;  ///< of a step: each of them draws other numbers
};
Tensor dropout_draw(Tensor train, const DropoutOptions& options, SourceLocation where);
Tensor dropout(Tensor x, Tensor words, SourceLocation where);

/// 0 or 1 / (1 - probability): the factor of an element by these words.
double dropout_factor(const HostTensor& words, std::int64_t row, std::int64_t col);
/// Words for the cases of ops.
Case::Input dropout_of_case(double probability = 0.5);

}  // namespace vantage::internal
