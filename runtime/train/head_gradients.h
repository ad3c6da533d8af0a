// How much each attention head matters, by the gradient of the loss: ∂L/∂ξ, where ξ = 1 multiplies the head's output.
// Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?" (2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/train/training_graph.h"
#include "vantage/model.h"
#include "vantage/plan.h"
#include "vantage/session.h"

namespace vantage::internal {

/// A text or image, and what the loss asks for: the tokens behind each one, of an encoder–decoder those of the answer,
/// or a label.
struct HeadGradientInput {
    std::span<const std::int32_t> ids = {}, types = {}, source = {};
    std::span<const float> pixels = {};
    std::int32_t label = -1;
};

/// Forward and backward pass of one input, with the weights of the model as they are.
/// Threads: one at a time.
class HeadGradients : NotCopied {
public:
    /// For inputs of up to `rows` tokens. Throws unsupported for models whose heads' outputs or attention have no
    /// gradient, out_of_memory.
    HeadGradients(const Model& model, std::int64_t rows);
    /// ∂L/∂ξ of each of these heads, L the mean loss of the input's targets in nats. `masked` ones are multiplied by 0.
    /// Throws accuracy where a result is not finite.
    std::vector<double> of(const HeadGradientInput& input, std::span<const HeadId> heads,
                           std::span<const HeadId> masked = {});
    double loss() const { return loss_; }  ///< of the last input

private:
    void write_inputs(const HeadGradientInput& input);
    void write_masks(std::span<const HeadId> masked);

    Model model_;
    std::int64_t rows_;
    TrainingStep step_;
    Plan plan_;
    double loss_ = 0;
};

}  // namespace vantage::internal
