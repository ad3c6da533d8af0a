// The description of one model architecture. Each is in its own file of runtime/models and listed in architectures.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/models/config.h"
#include "runtime/models/initializers.h"
#include "runtime/models/model_builder.h"

namespace vantage::internal {

/// What only some architectures have.
struct ArchitectureDetails {
    /// Encoder–decoder models: builds the encoder, and the keys and values that the decoder's layers read.
    void (*build_encoder)(ModelBuilder& builder) = nullptr;
    /// Beginnings of names that never have the prefix: those of the output layers.
    std::vector<const char*> bare = {"lm_head."};
    /// Endings of checkpoint tensors that are not weights, such as masks and frequencies. They are ignored.
    std::vector<const char*> ignored = {};
    /// Beginnings of the names of another model in the same checkpoint. They are ignored.
    std::vector<const char*> elsewhere = {};
    /// Weights that a checkpoint may omit, "*" standing for the number of any layer. Builders call `has` before they
    /// read one.
    std::vector<const char*> optional = {};
    /// For models whose positions depend on the token ids: the row of the position table for each token of a sequence.
    std::vector<std::int32_t> (*positions)(const ModelConfig& config, std::span<const std::int32_t> tokens) = nullptr;
    /// For encoders whose pooler has a row for each token: the row that stands for the sequence.
    std::int64_t (*pooled_row)(const ModelConfig& config, std::span<const std::int32_t> tokens) = nullptr;
    InitialWeights initial = {};
};

struct Architecture {
    const char* name;  ///< config.json's model_type
    /// The beginning of its class names: "GPT2" of "GPT2LMHeadModel".
    const char* class_begin;
    /// Prefixes that checkpoints may put before every name except those of the output layer. Graphs omit them. The
    /// default comes first.
    std::vector<const char*> prefixes;
    /// Reads the fields it needs from config.json. Throws bad_file for invalid and for unsupported values.
    void (*read)(const JsonFields& fields, ModelConfig& config);
    void (*build)(ModelBuilder& builder);
    ArchitectureDetails details = {};
};

extern const Architecture gpt2, gptj, gpt_neox, opt, bloom, falcon, phi, phi3;
extern const Architecture bert, roberta, longformer, big_bird, distilbert;
extern const Architecture vit, clip, clip_text_model, clip_vision_model;
extern const Architecture bart, t5, transformer, vision_encoder_decoder, seq2seq;
extern const Architecture llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, smollm3, granite, olmo2, gemma2, gpt_oss;
extern const Architecture mamba, falcon_mamba, jamba, recurrent_lm;
std::span<const Architecture* const> all_architectures();
/// Throws bad_file with the list of supported names if there is none of this name.
const Architecture& architecture_named(std::string_view name, std::string_view file);

/// All weights of the model's graphs, each once, as they are in files: not transposed, f32.
std::vector<Value> weights_in_files(const ModelConfig& config);
/// The sizes that files have for a tensor of a weight: a single number has none there.
std::vector<std::int64_t> sizes_in_files(const Value& weight, const Shape& shape);
/// Calls ArchitectureDetails::positions, which the model must have.
std::vector<std::int32_t> token_positions(const ModelConfig& config, std::span<const std::int32_t> tokens);
/// Calls ArchitectureDetails::pooled_row; nothing where the pooler has one row for each sequence.
std::optional<std::int64_t> pooled_row(const ModelConfig& config, std::span<const std::int32_t> tokens);
/// True for weights of the output layers, which base models (LlamaModel) are saved without.
bool is_of_output_layer(const ModelConfig& config, const std::string& weight);
/// Whether a weight is what the output layer adds to the logits: with -inf, a token is never drawn.
bool is_bias_of_logits(const ModelConfig& config, const Value& weight);
/// True for weights that a checkpoint of this architecture may omit.
std::span<const char* const> optional_weights(const ModelConfig& config);
/// True for a tensor of the checkpoint that no weight of the graph uses, and that may be ignored.
bool is_ignored_tensor(const ModelConfig& config, const std::string& name);
/// Prefixes that a checkpoint of this architecture may put before a weight's name, the default first.
std::vector<std::string> checkpoint_prefixes(const ModelConfig& config, const std::string& weight);

}  // namespace vantage::internal
