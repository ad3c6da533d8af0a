// The weights of heads on the host, as the device has them.
#pragma once

#include <vector>

#include "runtime/inspect/head_composition.h"
#include "runtime/models/head_projections.h"
#include "vantage/model.h"

namespace vantage::internal {

/// A matrix of a graph whose weights are stored as they were loaded (transpose_weights): rows [features, width of the
/// model], widened.
std::vector<float> read_features(const Model& model, const Graph& graph, const HeadMatrix& matrix);

/// The weights of a layer's heads. The part of the norm before the projections that is linear belongs to them: its
/// gain, and in layer_norm the subtraction of the mean. Throws unsupported like head_projections.
std::vector<HeadWeights> head_weights(const Model& model, std::int64_t layer, AttentionKind kind);

}  // namespace vantage::internal
