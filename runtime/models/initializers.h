// The initial weights of a model that is trained from nothing: counted random numbers, and rules for tensors.
//
// A rule that only one architecture has is in its file (ArchitectureDetails::initial). runtime/train/initial_weights.h
// applies them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// The random numbers of one tensor, in blocks of four elements. They depend on the seed, the tensor's name and the
/// number of the element alone, and have the same bits on every machine.
class TensorRandom {
public:
    TensorRandom(std::uint64_t seed, std::string_view tensor);

    using Block = std::array<double, 4>;       ///< for the elements from 4 · block on
    Block uniform(std::uint64_t block) const;  ///< in (0, 1)
    Block normal(std::uint64_t block) const;   ///< mean 0, standard deviation 1

private:
    std::uint64_t seed_, tensor_;
};

/// Writes the initial values of a tensor, row by row.
using Initializer = std::function<void(const TensorRandom& random, std::span<float> values)>;

Initializer constant_initializer(double value);
Initializer normal_initializer(double deviation);
Initializer uniform_initializer(double bound);  ///< in (-bound, bound)
/// Of uniform numbers u in (0, 1) the values of `f`.
Initializer uniform_initializer(std::function<double(double u)> f);
/// As torch.nn.Linear and Conv1d: weights and biases in ±1/√inputs.
Initializer torch_initializer(std::int64_t inputs);

/// A tensor of a checkpoint, under its name without the prefix that some checkpoints have.
struct NamedTensor {
    std::string name;
    Shape shape;
    /// Whether the name ends with one of these.
    bool ends_with(std::initializer_list<std::string_view> endings) const;
};

/// What transformers does unless an architecture has another rule (PreTrainedModel._init_weights): biases are 0, gains
/// of norms 1, and the weights of linear layers, convolutions and embeddings normal with the standard deviation
/// config.initializer_range.
Initializer default_initializer(const ModelConfig& config, const NamedTensor& tensor);

/// What an architecture says about the initial weights of its models.
struct InitialWeights {
    double range = 0.02;  ///< initializer_range where the config.json has none
    /// pad_token_id where the config.json has none; -1 = no token.
    std::int64_t padding = -1;
    /// Endings of the names of tables in which the row of the padding token is 0 (padding_idx of torch.nn.Embedding).
    std::vector<const char*> padded = {};
    /// Null: default_initializer for all tensors.
    Initializer (*rule)(const ModelConfig& config, const NamedTensor& tensor) = nullptr;
};

/// Weights of ModelConfig::variants, which any architecture may have; an empty function for other tensors.
Initializer variant_initializer(const NamedTensor& tensor);

}  // namespace vantage::internal
