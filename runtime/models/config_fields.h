// Helpers for fields of config.json that many architectures share.
#pragma once

#include <functional>
#include <initializer_list>

#include "runtime/base/json.h"
#include "runtime/models/config.h"

namespace vantage::internal {

// Limits far above any published model: larger values mean a damaged file, and products of sizes stay below 2^63.
constexpr std::int64_t max_layers = 4096, max_width = 1 << 20, max_heads = 1 << 14, max_vocab = 1 << 24,
                       max_context = 1 << 28, max_experts = 1 << 14;

/// Names of one field: "n_head", "num_attention_heads".
using Keys = std::initializer_list<const char*>;
/// The first of these keys that the file has, or the last; and its value.
const char* one_key(const JsonFields& fields, Keys keys);
std::int64_t one_integer(const JsonFields& fields, Keys keys, std::int64_t maximum);

/// Defaults of an architecture. transformers writes only the values that differ from them.
struct FieldDefaults {
    std::int64_t kv_heads = 0;    ///< 0 or null: as many as query heads
    std::int64_t head_width = 0;  ///< 0 or null: width / heads
    std::int64_t inner = 0;       ///< of the MLP; 0: required
    std::int64_t context = 2048;
    double norm_eps = 1e-6, rope_theta = 10000;
    bool tied = false;
};
/// num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size, vocab_size,
/// max_position_embeddings.
void read_sizes(const JsonFields& fields, ModelConfig& config, const FieldDefaults& defaults = {});
/// Layers, width and heads, as many for keys and values; each head takes an equal share of the width.
void read_block_sizes(const JsonFields& fields, ModelConfig& config, Keys layers, Keys width, Keys heads);
/// The width divided by the heads. Throws bad_file, naming both keys, unless it is whole.
void divide_heads(const JsonFields& fields, ModelConfig& config, const char* width_key, const char* heads_key);
void require_divides(const JsonFields& fields, const char* what, std::int64_t whole, const char* by, std::int64_t part);

/// The first of "architectures": "LlamaForCausalLM"; empty if the file has none.
std::string class_of(const JsonFields& fields);
/// The output head of an encoder, from its class: …ForMaskedLM, …ForSequenceClassification with id2label or num_labels,
/// …Model.
void read_head(const JsonFields& fields, ModelConfig& config);
/// num_local_experts (or num_experts) and num_experts_per_tok; router_aux_loss_coef where output_router_logits is true.
void read_experts(const JsonFields& fields, ModelConfig& config, std::int64_t experts, std::int64_t per_token);

Activation read_activation(const JsonFields& fields, const char* key, const char* default_value);
/// An activation by its name in transformers, from the field `key`.
Activation activation_of(const JsonFields& fields, const char* key, const std::string& name);
/// Reads the first token of the decoder: decoder_start_token_id and forced_bos_token_id. Supports the classes
/// …ForConditionalGeneration and …Model.
void read_start(const JsonFields& fields, ModelConfig& config, std::int64_t default_value);
bool read_tied(const JsonFields& fields, bool default_value);
/// initializer_range, or init_std.
double read_initializer_range(const JsonFields& fields, double default_value);

/// Rotary positions on `share` of each head, unless the file gives another share: rope_theta and rope_scaling
/// (transformers 4), or rope_parameters (5). Throws bad_file for an unsupported scaling.
void read_rope(const JsonFields& fields, ModelConfig& config, double theta = 10000, double share = 1);

/// sliding_window: 0 if it is null, `default_value` if it is missing (0 = no window).
std::int64_t read_window(const JsonFields& fields, std::int64_t default_value);
/// Layers with sliding-window attention: those that layer_types calls sliding_attention, otherwise those that `slides`
/// selects.
void read_windows(const JsonFields& fields, ModelConfig& config, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& slides);

}  // namespace vantage::internal
