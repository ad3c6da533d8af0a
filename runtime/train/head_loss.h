// The loss of a language model's output layer, made some rows at a time.
#pragma once

#include <functional>
#include <vector>

#include "vantage/graph.h"
#include "vantage/ops.h"

namespace vantage::internal {

/// Σ_r weights_r · cross-entropy of the logits of row r of x [n, width] with targets_r, one element.
struct HeadLoss {
    Tensor x;
    std::function<Tensor(Tensor)> logits;  ///< of any rows of x: [rows, width] → [rows, classes]
    Tensor targets, weights;               ///< i32 [n], f32 [n]: of the rows
    CrossEntropyOptions options = {};
    std::function<std::vector<Tensor>()> weights_to_learn = {};  ///< of the graph as it is when it is called
};

/// Makes the logits of all rows.
Tensor head_loss(Graph& graph, const HeadLoss& head);

/// The same in pieces of `rows`, each a segment of the graph, so that the logits of two pieces never exist together;
/// the segment "backward" follows. The gradients of x and of the weights of `logits` are made in the pieces as well,
/// and are those of the result, whatever it depends on besides: logits exist once, not in a forward and a backward pass
/// (Wijmans et al. 2024; Hsu et al. 2024). Without `differentiate` the result has no gradient.
Tensor head_loss_in_pieces(Graph& graph, const HeadLoss& head, std::int64_t rows, bool differentiate);

/// The rows of all parts, one part after the other.
Tensor joined(std::vector<Tensor> parts);

}  // namespace vantage::internal
