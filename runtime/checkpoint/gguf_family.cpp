#include "runtime/checkpoint/gguf_family.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

// ---- keys -----------------------------------------------------------------------------------------------------------

GgufKeys::GgufKeys(const Gguf& file)
    : file_(file), fields_(file.metadata(), file.name()), prefix_(fields_.text("general.architecture") + ".") {}

std::int64_t GgufKeys::heads() const { return fields_.integer(name("attention.head_count"), 1, max_heads); }
std::int64_t GgufKeys::kv_heads() const {
    return fields_.optional_integer(name("attention.head_count_kv"), 1, max_heads).value_or(heads());
}
std::int64_t GgufKeys::head_width() const {
    return optional_integer("attention.key_length").value_or(integer("embedding_length") / heads());
}

std::vector<double> GgufKeys::numbers(const std::string& tensor) const {
    const auto found = file_.entries().find(tensor);
    if (found == file_.entries().end())
        throw bad_file_error("{}: there is no tensor {}", file_.name(), in_quotes(tensor));
    const TensorEntry& entry = found->second;
    if (entry.dtype != "F32" || entry.shape.size() != 1)
        throw bad_file_error("{}: tensor {} is {}, wanted numbers in F32", file_.name(), in_quotes(tensor),
                             entry.text());
    constexpr std::int64_t most = 1 << 16;
    if (entry.shape[0] > most)
        throw bad_file_error("{}: tensor {} has {} numbers, wanted at most {}", file_.name(), in_quotes(tensor),
                             entry.shape[0], most);
    std::vector<float> values(static_cast<std::size_t>(entry.shape[0]));
    entry.data.read(0, std::as_writable_bytes(std::span(values)));
    return {values.begin(), values.end()};
}

namespace {

// ---- tensors --------------------------------------------------------------------------------------------------------

// Names that an architecture does not have are in no file of it.
constexpr std::array llama_outside{GgufName{"token_embd", "model.embed_tokens"}, GgufName{"output_norm", "model.norm"},
                                   GgufName{"output", "lm_head"}};
constexpr std::array llama_attention{
    GgufName{"attn_norm", "input_layernorm"},    GgufName{"attn_q", "self_attn.q_proj"},
    GgufName{"attn_k", "self_attn.k_proj"},      GgufName{"attn_v", "self_attn.v_proj"},
    GgufName{"attn_qkv", "self_attn.qkv_proj"},  GgufName{"attn_output", "self_attn.o_proj"},
    GgufName{"attn_q_norm", "self_attn.q_norm"}, GgufName{"attn_k_norm", "self_attn.k_norm"}};
constexpr std::array llama_mlp{GgufName{"ffn_norm", "post_attention_layernorm"}, GgufName{"ffn_gate", "mlp.gate_proj"},
                               GgufName{"ffn_up", "mlp.up_proj"}, GgufName{"ffn_down", "mlp.down_proj"}};
constexpr std::array mixtral_mlp{GgufName{"ffn_norm", "post_attention_layernorm"},
                                 GgufName{"ffn_gate_inp", "block_sparse_moe.gate"},
                                 GgufName{"ffn_gate_exps", "block_sparse_moe.experts.*.w1"},
                                 GgufName{"ffn_down_exps", "block_sparse_moe.experts.*.w2"},
                                 GgufName{"ffn_up_exps", "block_sparse_moe.experts.*.w3"}};
constexpr std::array qwen3_moe_mlp{
    GgufName{"ffn_norm", "post_attention_layernorm"}, GgufName{"ffn_gate_inp", "mlp.gate"},
    GgufName{"ffn_gate_exps", "mlp.experts.*.gate_proj"}, GgufName{"ffn_down_exps", "mlp.experts.*.down_proj"},
    GgufName{"ffn_up_exps", "mlp.experts.*.up_proj"}};
constexpr std::array gemma2_mlp{GgufName{"post_attention_norm", "post_attention_layernorm"},
                                GgufName{"ffn_norm", "pre_feedforward_layernorm"},
                                GgufName{"post_ffw_norm", "post_feedforward_layernorm"},
                                GgufName{"ffn_gate", "mlp.gate_proj"},
                                GgufName{"ffn_up", "mlp.up_proj"},
                                GgufName{"ffn_down", "mlp.down_proj"}};
constexpr std::array phi_outside{GgufName{"token_embd", "model.embed_tokens"},
                                 GgufName{"output_norm", "model.final_layernorm"}, GgufName{"output", "lm_head"}};
constexpr std::array phi_attention{GgufName{"attn_norm", "input_layernorm"}, GgufName{"attn_q", "self_attn.q_proj"},
                                   GgufName{"attn_k", "self_attn.k_proj"}, GgufName{"attn_v", "self_attn.v_proj"},
                                   GgufName{"attn_output", "self_attn.dense"}};
constexpr std::array phi_mlp{GgufName{"ffn_up", "mlp.fc1"}, GgufName{"ffn_down", "mlp.fc2"}};
constexpr std::array phi3_mlp{GgufName{"ffn_norm", "post_attention_layernorm"}, GgufName{"ffn_up", "mlp.gate_up_proj"},
                              GgufName{"ffn_down", "mlp.down_proj"}};
constexpr std::array neox_outside{GgufName{"token_embd", "gpt_neox.embed_in"},
                                  GgufName{"output_norm", "gpt_neox.final_layer_norm"},
                                  GgufName{"output", "embed_out"}};
constexpr std::array neox_attention{GgufName{"attn_norm", "input_layernorm"},
                                    GgufName{"attn_qkv", "attention.query_key_value"},
                                    GgufName{"attn_output", "attention.dense"}};
constexpr std::array neox_mlp{GgufName{"ffn_norm", "post_attention_layernorm"}, GgufName{"ffn_up", "mlp.dense_h_to_4h"},
                              GgufName{"ffn_down", "mlp.dense_4h_to_h"}};
constexpr std::array bloom_outside{GgufName{"token_embd", "transformer.word_embeddings"},
                                   GgufName{"token_embd_norm", "transformer.word_embeddings_layernorm"},
                                   GgufName{"output_norm", "transformer.ln_f"}, GgufName{"output", "lm_head"}};
constexpr std::array bloom_attention{GgufName{"attn_norm", "input_layernorm"},
                                     GgufName{"attn_qkv", "self_attention.query_key_value"},
                                     GgufName{"attn_output", "self_attention.dense"}};
// The norm of the attention is the second one in a file.
constexpr std::array falcon_two_norms{GgufName{"attn_norm", "ln_mlp"}, GgufName{"attn_norm_2", "ln_attn"},
                                      GgufName{"attn_qkv", "self_attention.query_key_value"},
                                      GgufName{"attn_output", "self_attention.dense"}};
constexpr std::array gpt2_outside{GgufName{"token_embd", "wte"}, GgufName{"position_embd", "wpe"},
                                  GgufName{"output_norm", "ln_f"}, GgufName{"output", "lm_head"}};
constexpr std::array gpt2_attention{GgufName{"attn_norm", "ln_1"}, GgufName{"attn_qkv", "attn.c_attn"},
                                    GgufName{"attn_output", "attn.c_proj"}};
constexpr std::array gpt2_mlp{GgufName{"ffn_norm", "ln_2"}, GgufName{"ffn_up", "mlp.c_fc"},
                              GgufName{"ffn_down", "mlp.c_proj"}};
constexpr std::array bert_outside{
    GgufName{"token_embd", "embeddings.word_embeddings"}, GgufName{"position_embd", "embeddings.position_embeddings"},
    GgufName{"token_types", "embeddings.token_type_embeddings"}, GgufName{"token_embd_norm", "embeddings.LayerNorm"}};
constexpr std::array bert_attention{
    GgufName{"attn_q", "attention.self.query"}, GgufName{"attn_k", "attention.self.key"},
    GgufName{"attn_v", "attention.self.value"}, GgufName{"attn_output", "attention.output.dense"},
    GgufName{"attn_output_norm", "attention.output.LayerNorm"}};
constexpr std::array bert_mlp{GgufName{"ffn_up", "intermediate.dense"}, GgufName{"ffn_down", "output.dense"},
                              GgufName{"layer_output_norm", "output.LayerNorm"}};

// ---- keys of one architecture ---------------------------------------------------------------------------------------

void llama_config(const GgufKeys& keys, Json& config) {
    config["attention_bias"] = keys.has_tensor("blk.0.attn_q.bias");
    config["mlp_bias"] = keys.has_tensor("blk.0.ffn_gate.bias");
}
void mixtral_config(const GgufKeys& keys, Json& config) {
    config["num_local_experts"] = keys.integer("expert_count");
    config["num_experts_per_tok"] = keys.integer("expert_used_count");
    config["sliding_window"] = nullptr;
}
void qwen3_moe_config(const GgufKeys& keys, Json& config) {
    config["num_experts"] = keys.integer("expert_count");
    config["num_experts_per_tok"] = keys.integer("expert_used_count");
    config["moe_intermediate_size"] = config["intermediate_size"];
    config["norm_topk_prob"] = true;  // as llama.cpp has it: no key says it
}
void smollm3_config(const GgufKeys& keys, Json& config) {
    llama_config(keys, config);
    config["no_rope_layer_interval"] = 4;  // as llama.cpp has it: no key says it
}
void granite_config(const GgufKeys& keys, Json& config) {
    llama_config(keys, config);
    if (!keys.optional_flag("rope.scaling.finetuned").value_or(true))
        throw unsupported_error("{}: {} false, which means no rotary positions, is not read from GGUF yet",
                                keys.file().name(), keys.name("rope.scaling.finetuned"));
    const auto factor = [&](const char* key) { return keys.fields().number(keys.name(key), 1e-6, 1e6); };
    config["attention_multiplier"] = factor("attention.scale");
    config["logits_scaling"] = factor("logit_scale");
    for (const auto& [key, name] :
         {std::pair{"embedding_scale", "embedding_multiplier"}, {"residual_scale", "residual_multiplier"}})
        if (keys.has(key)) config[name] = factor(key);
}
void nothing_more(const GgufKeys&, Json&) {}
void gemma2_config(const GgufKeys& keys, Json& config) {
    config["hidden_activation"] = "gelu_pytorch_tanh";
    // Not in the file: the width of a head, but in Gemma 2 27B, which has 46 layers, the width divided by the heads.
    constexpr std::int64_t layers_of_27b = 46;
    config["query_pre_attn_scalar"] = keys.integer("block_count") == layers_of_27b
                                          ? keys.integer("embedding_length") / keys.heads()
                                          : keys.head_width();
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (const auto cap = keys.optional_number(key)) config[key] = *cap;
    config["sliding_window"] = keys.optional_integer("attention.sliding_window").value_or(4096);
}
void phi3_config(const GgufKeys& keys, Json& config) {
    const std::int64_t window = keys.optional_integer("attention.sliding_window").value_or(0);
    config["sliding_window"] = window > 0 ? Json(window) : Json(nullptr);
}
/// The folder packs one key with each query.
void require_as_many_keys(const GgufKeys& keys) {
    if (keys.kv_heads() != keys.heads())
        throw bad_file_error("{}: {} is {}, wanted the {} of the queries", keys.file().name(),
                             in_quotes(keys.name("attention.head_count_kv")), keys.kv_heads(), keys.heads());
}
void neox_config(const GgufKeys& keys, Json& config) {
    require_as_many_keys(keys);
    config["use_parallel_residual"] = keys.optional_flag("use_parallel_residual").value_or(true);
    config["attention_bias"] = keys.has_tensor("blk.0.attn_qkv.bias");
}
void bloom_config(const GgufKeys& keys, Json& config) {
    require_as_many_keys(keys);
    config["seq_length"] = keys.integer("context_length");
}
bool has_two_norms(const GgufKeys& keys) { return keys.has_tensor("blk.0.attn_norm_2.weight"); }
void falcon_config(const GgufKeys& keys, Json& config) {
    const bool one_key = keys.kv_heads() == 1, two_norms = has_two_norms(keys);
    config["new_decoder_architecture"] = !one_key || two_norms;
    config["multi_query"] = one_key;
    config["num_kv_heads"] = keys.kv_heads();
    config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
    config["parallel_attn"] = true;
    config["bias"] = keys.has_tensor("blk.0.attn_qkv.bias");
}
void gpt2_config(const GgufKeys& keys, Json& config) {
    config["n_layer"] = keys.integer("block_count");
    config["n_embd"] = keys.integer("embedding_length");
    config["n_head"] = keys.integer("attention.head_count");
    config["n_positions"] = keys.integer("context_length");
    config["n_inner"] = config["intermediate_size"];
    config["rows_are_outputs"] = true;
}
void bert_config(const GgufKeys& keys, Json& config) {
    if (keys.has_tensor("cls.weight") || keys.has_tensor("cls.output.weight"))
        throw unsupported_error("{}: a classifier is not read from GGUF yet; use a folder of safetensors",
                                keys.file().name());
    config["architectures"] = {"BertModel"};
    const auto types = keys.file().entries().find("token_types.weight");
    if (types != keys.file().entries().end() && !types->second.shape.empty())
        config["type_vocab_size"] = types->second.shape[0];
    constexpr std::int64_t of_first_token = 2;  // after none and mean; then of the last token, and a rank
    const std::int64_t pooling = keys.optional_integer("pooling_type").value_or(0);
    if (pooling > of_first_token)
        throw unsupported_error("{}: {} {} is not read from GGUF yet, only 0 to 2", keys.file().name(),
                                keys.name("pooling_type"), pooling);
    config["pools_first_token"] = pooling == of_first_token;
}

constexpr const char *in_model = "model.layers.", *in_transformer = "transformer.h.";
constexpr const char *expert_key = "expert_count", *window_key = "attention.sliding_window";
constexpr GgufChange pairs = GgufChange::rotary_pairs, packed = GgufChange::packed_qkv;
constexpr std::array families{
    GgufFamily{"llama", "llama", in_model, llama_outside, llama_attention, llama_mlp, llama_config, pairs},
    GgufFamily{"qwen2", "qwen2", in_model, llama_outside, llama_attention, llama_mlp, nothing_more},
    GgufFamily{"qwen3", "qwen3", in_model, llama_outside, llama_attention, llama_mlp, nothing_more},
    GgufFamily{"qwen3moe", "qwen3_moe", in_model, llama_outside, llama_attention, qwen3_moe_mlp, qwen3_moe_config,
               GgufChange::none, expert_key},
    GgufFamily{"smollm3", "smollm3", in_model, llama_outside, llama_attention, llama_mlp, smollm3_config, pairs},
    GgufFamily{"granite", "granite", in_model, llama_outside, llama_attention, llama_mlp, granite_config, pairs,
               "attention.scale"},
    GgufFamily{"olmo2", "olmo2", in_model, llama_outside, llama_attention, gemma2_mlp, nothing_more},
    GgufFamily{"gemma2", "gemma2", in_model, llama_outside, llama_attention, gemma2_mlp, gemma2_config,
               GgufChange::gain_is_one_more, window_key},
    GgufFamily{"phi2", "phi", in_model, phi_outside, phi_attention, phi_mlp, nothing_more},
    GgufFamily{"phi3", "phi3", in_model, llama_outside, llama_attention, phi3_mlp, phi3_config, GgufChange::none,
               window_key},
    GgufFamily{"gpt2", "gpt2", "h.", gpt2_outside, gpt2_attention, gpt2_mlp, gpt2_config},
    GgufFamily{"gptneox", "gpt_neox", "gpt_neox.layers.", neox_outside, neox_attention, neox_mlp, neox_config, packed},
    GgufFamily{"bloom", "bloom", in_transformer, bloom_outside, bloom_attention, neox_mlp, bloom_config, packed},
    GgufFamily{"falcon", "falcon", in_transformer, bloom_outside, bloom_attention, neox_mlp, falcon_config, packed},
    GgufFamily{"bert", "bert", "encoder.layer.", bert_outside, bert_attention, bert_mlp, bert_config, GgufChange::none,
               "attention.causal"}};
// Variants of an architecture, chosen by what is in the file.
constexpr GgufFamily mixtral_family{"llama",     "mixtral",      in_model, llama_outside, llama_attention,
                                    mixtral_mlp, mixtral_config, pairs,    expert_key};
constexpr GgufFamily falcon_40b_family{"falcon",         "falcon", in_transformer, bloom_outside,
                                       falcon_two_norms, neox_mlp, falcon_config,  packed};

std::string renamed(std::span<const GgufName> names, const std::string& name) {
    const std::size_t dot = name.rfind('.');  // before "weight" or "bias"
    if (dot != std::string::npos)
        for (const GgufName& one : names)
            if (name.compare(0, dot, one.gguf) == 0) return one.folder + name.substr(dot);
    return {};
}

}  // namespace

const GgufFamily& family_of(const Gguf& file) {
    const GgufKeys keys(file);
    const std::string name = keys.fields().text("general.architecture");
    if (name == mixtral_family.name && keys.optional_integer(expert_key).value_or(0) > 0) return mixtral_family;
    if (name == falcon_40b_family.name && has_two_norms(keys)) return falcon_40b_family;
    for (const GgufFamily& one : families)
        if (name == one.name) return one;
    throw unsupported_error("{}: the architecture {} is not read from GGUF yet, only {}; use a folder of safetensors",
                            file.name(), in_quotes(name),
                            join(families, ", ", [](const GgufFamily& one) { return std::string(one.name); }));
}

std::string folder_name(const GgufFamily& family, const std::string& name) {
    std::string found;
    if (name.starts_with("blk.")) {
        const std::size_t dot = name.find('.', 4);
        const std::string in_layer = dot == std::string::npos ? std::string() : name.substr(dot + 1);
        found = renamed(family.attention, in_layer);
        if (found.empty()) found = renamed(family.mlp, in_layer);
        if (!found.empty()) found = family.layer + name.substr(4, dot - 4) + "." + found;
    } else {
        found = renamed(family.outside, name);
    }
    return found.empty() ? name : found;
}

}  // namespace vantage::internal
