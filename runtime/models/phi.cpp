// Phi: attention and MLP in parallel after one norm, rotary positions on a part of each head, biases everywhere.
//   y = ln(x);  x += attention(y) + mlp(y);  logits = ln_f(x) headᵀ + b
// Li et al., "Textbooks Are All You Need II: phi-1.5" (2023).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_phi(const JsonFields& fields, ModelConfig& c) {
    read_sizes(fields, c);
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "hidden_act", "gelu_new");
    c.tied = read_tied(fields, false);
    c.head_norms = fields.optional_flag("qk_layernorm").value_or(false);
    read_rope(fields, c, 10000, 0.5);
}

void build_phi(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm("input_layernorm", x);
        const auto heads = [&](const char* name, std::int64_t count) {
            return d.heads(d.dense(name, y, count * c.head_width, true), count);
        };
        Tensor q = heads("self_attn.q_proj", c.heads), k = heads("self_attn.k_proj", c.kv_heads);
        if (c.head_norms) {
            q = d.layer_norm("self_attn.q_layernorm", q);
            k = d.layer_norm("self_attn.k_layernorm", k);
        }
        const Tensor seen = d.attend(layer, d.rotate(q), d.rotate(k), heads("self_attn.v_proj", c.kv_heads));
        const Tensor inner = activate(d.dense("mlp.fc1", y, c.inner, true), c.activation);
        x = x + d.drop(d.dense("self_attn.dense", seen, c.width, true));
        return x + d.drop(d.dense("mlp.fc2", inner, c.width, true));
    });
    d.finish(last, "final_layernorm", embed, "lm_head", true);
}

}  // namespace

const Architecture phi("phi", "Phi", {"model."}, read_phi, build_phi,
                       {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
