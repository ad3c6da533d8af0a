// GPT-J: attention and MLP in parallel after one norm, rotary positions on the first features of each head in pairs
// (2i, 2i + 1).
//   y = ln_1(x);  x += attention(y) + mlp(y);  logits = ln_f(x) headᵀ + b
// Wang & Komatsuzaki, "GPT-J-6B" (2021); Su et al., "RoFormer" (2021).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_gptj(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"n_layer"}, {"n_embd"}, {"n_head"});
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("n_positions", 1, max_context).value_or(2048);
    c.inner = fields.optional_integer("n_inner", 1, max_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "activation_function", "gelu_new");
    c.tied = read_tied(fields, false);
    c.rope_interleaved = true;
    c.rotary_width = fields.optional_integer("rotary_dim", 2, max_width)
                         .value_or(fields.json().contains("rotary_dim") ? c.head_width : 64);
    if (c.rotary_width % 2 != 0 || c.rotary_width > c.head_width)
        fields.fail("rotary_dim", format("an even number up to the width of a head, {}", c.head_width));
}

void build_gptj(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor wte = d.graph.weight("wte.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("h", d.embed(wte), [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm("ln_1", x);
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, y, c.width, false), c.heads); };
        const Tensor seen =
            d.attend(layer, d.rotate(heads("attn.q_proj")), d.rotate(heads("attn.k_proj")), heads("attn.v_proj"));
        const Tensor inner = activate(d.dense("mlp.fc_in", y, c.inner, true), c.activation);
        x = x + d.drop(d.dense("attn.out_proj", seen, c.width, false));
        return x + d.drop(d.dense("mlp.fc_out", inner, c.width, true));
    });
    d.finish(last, "ln_f", wte, "lm_head", true);
}

}  // namespace

const Architecture gptj("gptj", "GPTJ", {"transformer."}, read_gptj, build_gptj,
                        {.ignored = {".attn.bias", ".attn.masked_bias"}});

}  // namespace vantage::internal
