// How config.json spells what many architectures have.
#pragma once

#include <functional>
#include <initializer_list>

#include "runtime/base/json.h"
#include "runtime/models/config.h"

namespace vantage {

// Limits that no model of today reaches: beyond them a file is damaged, and products of sizes stay far below 2^63.
constexpr std::int64_t max_layers = 4096, max_width = 1 << 20, max_heads = 1 << 14, max_vocab = 1 << 24,
                       max_context = 1 << 28, max_experts = 1 << 14;

/// The first of several names that the file has: "n_head", "num_attention_heads".
std::int64_t one_integer(const JsonFields& fields, std::initializer_list<const char*> keys, std::int64_t maximum);
/// The first of these keys that the file has, the last when it has none.
const char* one_key(const JsonFields& fields, std::initializer_list<const char*> keys);

/// What an architecture takes for keys that its files leave out. transformers writes only what differs from these.
struct FieldDefaults {
    std::int64_t kv_heads = 0;    ///< 0 = as many as query heads; also what null means
    std::int64_t head_width = 0;  ///< 0 = the width divided by the heads; also what null means
    std::int64_t inner = 0;       ///< of the MLP; 0 = has to be there
    std::int64_t context = 2048;
    double norm_eps = 1e-6, rope_theta = 10000;
    bool tied = false;
};
/// num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size, vocab_size,
/// max_position_embeddings.
void read_sizes(const JsonFields& fields, ModelConfig& config, const FieldDefaults& defaults = {});
/// The width divided by the heads, which has to be whole; `width_key` and `heads_key` for the message.
void divide_heads(const JsonFields& fields, ModelConfig& config, const char* width_key, const char* heads_key);
void require_divides(const JsonFields& fields, const char* what, std::int64_t whole, const char* by, std::int64_t part);

/// Which head an encoder has, by its class: …ForMaskedLM, …ForSequenceClassification with id2label or num_labels, …Model.
void read_head(const JsonFields& fields, ModelConfig& config);
/// num_local_experts (or num_experts) and num_experts_per_tok.
void read_experts(const JsonFields& fields, ModelConfig& config, std::int64_t experts, std::int64_t per_token);

Activation read_activation(const JsonFields& fields, const char* key, const char* default_value);
/// An activation by transformers' name, which `key` says.
Activation activation_of(const JsonFields& fields, const char* key, const std::string& name);
/// Which token an encoder–decoder's decoder begins with: decoder_start_token_id, and forced_bos_token_id. Of the classes
/// …ForConditionalGeneration and …Model are built.
void read_start(const JsonFields& fields, ModelConfig& config, std::int64_t default_value);
bool read_tied(const JsonFields& fields, bool default_value);

/// Rotary positions of `share` of each head, unless the file says another share: rope_theta and rope_scaling
/// (transformers 4), or rope_parameters (5). Throws bad_file for a scaling that is not built.
void read_rope(const JsonFields& fields, ModelConfig& config, double theta = 10000, double share = 1);

/// sliding_window: null says that there is none, a file that does not say takes `default_value` (0 = none).
std::int64_t read_window(const JsonFields& fields, std::int64_t default_value);
/// Layers that attend to a window only: those that layer_types calls sliding_attention, else those that `slides` says.
void read_windows(const JsonFields& fields, ModelConfig& config, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& slides);

}  // namespace vantage
