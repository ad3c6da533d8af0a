#include "runtime/models/shapes.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"

namespace vantage::internal {

namespace {

constexpr NamedShape shapes[] = {
    // openai-community/gpt2, 124 M parameters
    {"gpt2-small", R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
        "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257,
        "layer_norm_epsilon": 1e-05, "eos_token_id": 50256})"},
    // meta-llama/Llama-3.2-1B, 1.24 G parameters
    {"llama-1b", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
        "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 32.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
        "tie_word_embeddings": true, "eos_token_id": 128001})"},
    // meta-llama/Llama-3.1-8B, 8.03 G parameters
    {"llama-8b", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
        "tie_word_embeddings": false, "eos_token_id": 128001})"},
    // openai/gpt-oss-20b, 20.9 G parameters, of which a token uses 3.6 G
    {"gpt-oss-20b", R"({"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "hidden_act": "silu",
        "num_hidden_layers": 24, "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 64, "intermediate_size": 2880, "num_local_experts": 32, "num_experts_per_tok": 4,
        "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128, "rms_norm_eps": 1e-05,
        "rope_theta": 150000.0, "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
        "beta_slow": 1.0, "original_max_position_embeddings": 4096, "truncate": false},
        "attention_bias": true, "tie_word_embeddings": false, "eos_token_id": 200002})"},
    // state-spaces/mamba-130m-hf, 129 M parameters
    {"mamba-130m", R"({"model_type": "mamba", "architectures": ["MambaForCausalLM"], "hidden_act": "silu",
        "num_hidden_layers": 24, "hidden_size": 768, "intermediate_size": 1536, "state_size": 16, "conv_kernel": 4,
        "time_step_rank": 48, "vocab_size": 50280, "layer_norm_epsilon": 1e-05, "eos_token_id": 0})"},
    // google-bert/bert-base-uncased without its output layer, 109 M parameters
    {"bert-base", R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu",
        "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})"}};

}  // namespace

std::span<const NamedShape> named_shapes() { return shapes; }

const NamedShape& shape_named(const std::string& name) {
    const auto found = std::ranges::find(shapes, name, &NamedShape::name);
    if (found != std::end(shapes)) return *found;
    throw usage_error("there is no shape " + in_quotes(name) + "; there are " +
                      join(shapes, ", ", [](const NamedShape& shape) { return shape.name; }));
}

}  // namespace vantage::internal
