// What a training step does around its gradients: sums over micro-batches, the norm of all gradients, and the numbers
// that an update needs. All of it is on the device: the host reads only the history.
#pragma once

#include "runtime/graph/op_def.h"
#include "shaders/params/train.h"

namespace vantage::internal {

namespace ops::accumulate {
extern const OpDef accumulate_op;
VANTAGE_OPERANDS(sum_, x_, train_);
}  // namespace ops::accumulate

namespace ops::count_loss {
extern const OpDef count_loss_op;
VANTAGE_OPERANDS(train_, loss_);
}  // namespace ops::count_loss

namespace ops::begin_update {
extern const OpDef begin_update_op;
VANTAGE_OPERANDS(train_, history_, squares_, rates_, corrections_);
}  // namespace ops::begin_update

namespace ops::fetch {
extern const OpDef fetch_op;
VANTAGE_OPERANDS(ring_, train_);
}  // namespace ops::fetch

namespace ops::sum_squares {
extern const OpDef sum_squares_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::sum_squares

namespace ops::sum_of {
extern const OpDef sum_of_op;
VANTAGE_OPERANDS(a_, b_, c_, d_, e_, f_, g_, h_);
}  // namespace ops::sum_of

namespace ops::record_norms {
extern const OpDef record_norms_op;
VANTAGE_OPERANDS(norms_, train_, a_, b_, c_, d_, e_, f_, g_, h_);
}  // namespace ops::record_norms

using ops::accumulate::accumulate_op, ops::count_loss::count_loss_op, ops::begin_update::begin_update_op,
    ops::fetch::fetch_op, ops::sum_squares::sum_squares_op, ops::sum_of::sum_of_op, ops::record_norms::record_norms_op;

/// The state of a training run, f32 [TRAIN_WORDS] (shaders/params/train.h), and the records of its last steps.
struct TrainState {
    Tensor train, history;
};
/// The states' first versions.
TrainState train_state(Graph& graph, SourceLocation where);
/// The next version of `sum`: sum + x, or x for the first micro-batch of a step.
Tensor accumulate(Tensor sum, Tensor x, Tensor train, SourceLocation where);
/// The next version of `train`, with a micro-batch and its loss, one element, counted; the loss is divided by the
/// scale.
Tensor count_loss(Tensor train, Tensor loss, SourceLocation where);
/// What the host wrote for the current micro-batch: entry (step · micro_batches + micro) mod n of ring [n, …], which
/// has elements of 4 bytes. So the host writes batches ahead of the device.
Tensor fetch(Tensor ring, Tensor train, std::int64_t micro_batches, SourceLocation where);
/// The sum of the squares of all elements of all tensors, f32 [1].
Tensor sum_squares(std::span<const Tensor> all, SourceLocation where);

/// The sum of numbers, f32 [1] each.
Tensor sum_of(std::vector<Tensor> numbers, SourceLocation where);
/// The next version of `norms`, f32 [TRAIN_HISTORY, groups], whose row of the current step has √(sum of squares of each
/// group) / scale; infinite where it is not finite. `train` is what begin_update reads.
Tensor record_norms(Tensor norms, Tensor train, std::span<const Tensor> squares, SourceLocation where);

/// How the numbers of an update are made. rates f32 [steps] has the learning rate of each step, corrections f32 [2, n]
/// Adam's 1 / (1 - beta^t) for t = 1 … n, after which they stay.
struct UpdateOptions {
    double max_norm = 0, norm_eps = 1e-6;  ///< gradients are multiplied by min(1, max_norm / (norm + eps)); 0: not
    double max_scale = 0;                  ///< of a dynamic loss scale; 0: the scale stays
    std::int64_t growth_interval = 2000;
};
TrainState begin_update(const TrainState& state, Tensor squares, Tensor rates, Tensor corrections,
                        const UpdateOptions& options, SourceLocation where);

}  // namespace vantage::internal
