// The weights of a model that is trained from nothing.
//
// The rules are those of the papers as transformers implements them: runtime/models/initializers.h has those that most
// models share, and an architecture's file what differs. The numbers are counted: a number depends on the seed, the
// tensor's name in the checkpoint and its place in the tensor. It does not depend on the order or the number of threads
// in which tensors are made, on the other tensors, the device or the C++ library: a model has the same weights on every
// machine.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// The initial values of a weight, or of the state that it has become (training_graph.h), in the layout in which a
/// checkpoint has them; of a weight that is several of the checkpoint, one after the other. From any thread.
std::vector<float> initial_values(const ModelConfig& config, const Value& weight, std::uint64_t seed);

}  // namespace vantage::internal
