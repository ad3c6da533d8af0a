// What a model folder's config.json says, for every architecture in one struct: the builders read what concerns them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/heads.h"
#include "vantage/lora.h"
#include "vantage/ops.h"

namespace vantage::internal {

/// What a model is for: text that goes on, vectors and answers about a text that is there, or a text that answers
/// another.
enum class ModelKind : std::uint8_t { decoder, encoder, encoder_decoder };
/// What an encoder's last layer is: none, the tokens that were masked, one answer for all of the input, a label for
/// each token, or for each token whether an answer begins or ends there.
enum class Head : std::uint8_t { none, masked_lm, classification, token_classification, question_answering };

/// What a classification's logits mean: one label of several (softmax), each label by itself (σ), or numbers as they
/// are.
enum class Labelling : std::uint8_t { one_of, each, numbers };

/// The image that a model takes in place of tokens: its size, and that of the patches that are its tokens.
struct ImageInput {
    std::int64_t channels = 0;  ///< 0 = the model takes tokens
    std::int64_t height = 0, width = 0, patch_height = 0, patch_width = 0;
    std::int64_t rows() const { return height / patch_height; }  ///< of patches
    std::int64_t columns() const { return width / patch_width; }
    std::int64_t places() const { return 1 + rows() * columns(); }  ///< the class's, then the patches row by row
    std::int64_t pixels() const { return channels * height * width; }
    bool operator==(const ImageInput&) const = default;
};

/// Name in ModelConfig::own, of one of two models whose vectors are compared: the logarithm of the cosines' factor.
inline constexpr const char* pair_scale = "logit_scale";

struct ModelConfig {
    std::string architecture;   ///< as config.json's model_type: "gpt2", "llama"
    Tower tower = Tower::text;  ///< of a folder with two models: which one this is
    ModelKind kind = ModelKind::decoder;
    Head head = Head::none;
    std::vector<std::string> labels;  ///< of a classification, by number; of answers: begins, ends
    Labelling labelling = Labelling::one_of;
    std::int64_t token_types = 0;  ///< kinds of tokens (first and second text), 0 = not told apart
    std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_width = 0, inner = 0, vocab = 0;
    std::int64_t context = 0;          ///< positions that the model allows
    std::int64_t default_context = 0;  ///< what a session takes that was not told more; 0 = all of them
    std::int64_t context_by_default() const { return default_context > 0 ? default_context : context; }
    /// The encoder of an encoder–decoder, whose decoder is what the sizes above say.
    struct Encoder {
        std::int64_t layers = 0, heads = 0, inner = 0;
        std::int64_t width = 0;  ///< of its hidden states; 0 = the decoder's
        bool operator==(const Encoder&) const = default;
    } encoder;
    /// Layers are recurrent: they do not attend. Of an encoder–decoder `cross_layers` (0 or 1) align with the encoder.
    bool recurrent = false;
    std::int64_t cross_layers = 0;
    bool row_by_row = false;       ///< a run of the decoder has one row of each sequence: it needs the row before
    std::int64_t start_token = 0;  ///< of an encoder–decoder: the decoder begins with it
    std::int64_t forced_first_token = -1;  ///< and every text that it writes with this one; -1 = any
    std::vector<std::string> absent = {};  ///< optional weights that the checkpoint does not have
    ImageInput image;                      ///< of models that see: an encoder, or an encoder–decoder's encoder
    double norm_eps = 1e-5;
    Activation activation = Activation::gelu_tanh;
    bool tied = true;  ///< the output layer is the embedding
    bool qkv_bias = false, attention_out_bias = false, mlp_bias = false;
    bool head_norms = false;      ///< queries and keys are normalised by head
    bool causal_encoder = false;  ///< an encoder's tokens see none behind them
    bool parallel = false;        ///< attention and MLP read the same residual stream
    bool state_space = false;     ///< layers keep states (kept_states) in place of keys and values: no heads
    /// With state_space the layers that attend all the same, ascending: those have heads, and no states.
    std::vector<std::int64_t> attending;

    std::int64_t rotary_width = 0;  ///< features of a head that are turned, from the first on
    bool rope_interleaved = false;  ///< pairs (2i, 2i + 1) instead of (i, i + rotary_width / 2)
    double rope_theta = 10000;
    RopeScaling rope_scaling;
    std::vector<double> rope_long_factors;  ///< longrope: in place of rope_scaling.factors beyond its original context

    double attention_scale = 0;   ///< of q·k; 0 = 1/sqrt(head_width)
    bool scale_by_layer = false;  ///< divided by layer + 1, too (GPT-2's scale_attn_by_inverse_layer_idx)
    double attention_softcap = 0, logit_softcap = 0;  ///< 0 = none
    /// By layer: keys that a query sees up to its own, that included, and in an encoder as many behind it; 0 = all.
    /// Empty = all.
    std::vector<std::int64_t> windows;
    std::vector<AttentionVariant> variants;  ///< those whose weights the file has
    std::int64_t experts = 0, experts_per_token = 0;
    double load_balance = 0;               ///< what TrainOptions::load_balance is by default
    std::optional<LoraOptions> lora = {};  ///< linear layers have adapters (adapters.h)
    /// Of CLIP that is trained: its encoder of texts, then its encoder of images. The sizes above are the first one's.
    std::vector<ModelConfig> towers = {};
    Attrs own;  ///< what only one architecture knows, under names of its own

    /// Of a model that is trained from nothing: the standard deviation of the weights of most layers, and the token
    /// whose embedding begins with zeros, -1 = none (initializers.h).
    double initializer_range = 0.02;
    std::int64_t padding_token = -1;

    std::vector<std::int64_t> end_tokens;
    /// Sampling that generation_config.json recommends; 0 and 1 mean "not said".
    double temperature = 0, top_p = 1, repetition_penalty = 1;
    std::int64_t top_k = 0;

    bool operator==(const ModelConfig&) const = default;
    /// Columns of the logits.
    std::int64_t logit_columns() const { return labels.empty() ? vocab : std::ssize(labels); }
    /// No two sequences share a run: what relative queries add is made of all rows of the cache, in its order.
    bool runs_alone() const { return own.flag("relative_queries"); }
    /// The images that it learns from.
    const ImageInput& learned_image() const { return towers.empty() ? image : towers.back().image; }
    /// Looks at images: in place of tokens, or an encoder–decoder that writes about them.
    bool sees() const { return image.channels > 0; }
    /// Takes images in place of tokens.
    bool is_vision() const { return sees() && kind == ModelKind::encoder; }
    /// Layers that attend this way, ascending; in most models all.
    std::vector<std::int64_t> attending_layers(AttentionKind attention) const;
    /// Features of an encoder–decoder's encoder's hidden states.
    std::int64_t encoder_width() const { return encoder.width > 0 ? encoder.width : width; }
    /// How a layer attends: causal or not, scale, soft-cap, window. Tensors (slopes, sinks) are the builder's.
    AttentionOptions attention(std::int64_t layer) const;
};

/// Reads config.json as transformers 4 or 5 write it. Throws bad_file naming the field: sizes that make no model (zero,
/// negative, huge, heads that do not divide), and architectures and options that are not supported.
/// Of a folder with two models the one that `tower` names.
ModelConfig parse_model_config(std::string_view json, const std::string& name, Tower tower = Tower::text);
/// The same for training: of a folder with two models both (ModelConfig::towers).
ModelConfig parse_trained_config(std::string_view json, const std::string& name);
/// The config.json of the same encoder with an output layer that classifies into these labels. Throws usage for labels
/// that are not two or more different ones, unsupported for a model that is no encoder, bad_file.
std::string config_with_labels(std::string_view json, const std::string& name, const std::vector<std::string>& labels);
/// Adds what generation_config.json says: end tokens and sampling defaults.
void apply_generation_config(ModelConfig& config, std::string_view json, const std::string& name);

}  // namespace vantage::internal
