// What there is to know about one architecture. Each lives in one file of runtime/models and is listed in architectures.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/models/config.h"
#include "runtime/models/model_builder.h"

namespace vantage {

struct Architecture {
    const char* name;         ///< config.json's model_type
    const char* class_begin;  ///< how its classes' names begin: "GPT2" of "GPT2LMHeadModel"
    /// What checkpoints may put in front of every name but the output layer's; in graphs it is left out. The usual one first.
    std::vector<const char*> prefixes;
    /// Takes what it needs from config.json. Throws bad_file for what makes no model, or one that is not built.
    void (*read)(const JsonFields& fields, ModelConfig& config);
    void (*build)(ModelBuilder& builder);
    /// Of an encoder–decoder: the encoder's graph, and the keys and values that the decoder's layers take from it.
    void (*build_encoder)(ModelBuilder& builder) = nullptr;
    /// How the names begin that have no prefix: those of the output layers.
    std::vector<const char*> bare = {"lm_head."};
    /// Endings of tensors that checkpoints carry beside the weights: masks and frequencies, made by other means here.
    std::vector<const char*> ignored = {};
    /// Weights that a checkpoint may leave out; builders ask `has` before they take one.
    std::vector<const char*> optional = {};
    /// Where positions depend on what the tokens are: the row of the table of positions for each token of a sequence.
    std::vector<std::int32_t> (*positions)(const ModelConfig& config, std::span<const std::int32_t> tokens) = nullptr;
};

std::span<const Architecture* const> all_architectures();
/// Throws bad_file with the list when there is none of this name.
const Architecture& architecture_named(const std::string& name, const std::string& file);

/// Architecture::positions of a model that has it.
std::vector<std::int32_t> token_positions(const ModelConfig& config, std::span<const std::int32_t> tokens);
/// A weight of the output layers, which bare models (LlamaModel) are saved without.
bool is_of_output_layer(const ModelConfig& config, const std::string& weight);
/// Weights that a checkpoint of this architecture may leave out.
std::span<const char* const> optional_weights(const ModelConfig& config);
/// A tensor of the checkpoint that no weight of the graph is made from, and that is no mistake.
bool is_ignored_tensor(const ModelConfig& config, const std::string& name);
/// What a checkpoint of this architecture may put in front of a weight's name, the usual one first.
std::vector<std::string> checkpoint_prefixes(const ModelConfig& config, const std::string& weight);

}  // namespace vantage
