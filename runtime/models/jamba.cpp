// Jamba: some layers attend, without positions, the others are Mamba's; some of the MLPs are mixtures of experts.
//   x = embed[token];  per block  x += mix(rms(x)),  x += feed(rms(x));  logits = rms(x) headᵀ
//   mix: attention, or Mamba with step sizes, B and C normalised by RMSNorm
//   feed: down(silu(gate(x)) ∘ up(x)), or as much of k experts: Σ p_e expert_e(x), p = softmax(router(x)) as they are
// Lieber et al., "Jamba: A Hybrid Transformer-Mamba Language Model" (2024).
#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/models/gated_experts.h"
#include "runtime/models/llama.h"
#include "runtime/models/mamba.h"

namespace vantage::internal {

namespace {

constexpr const char* joined_experts = "layers.*.feed_forward.experts.gate_up_proj";

/// One layer in `period`, the first one being layer `offset`.
struct Every {
    std::int64_t period, offset;
    bool has(std::int64_t layer) const { return layer % period == offset; }
};

Every read_every(const JsonFields& fields, const char* period_key, const char* offset_key, Every defaults) {
    const Every every{fields.optional_integer(period_key, 1, max_layers).value_or(defaults.period),
                      fields.optional_integer(offset_key, 0, max_layers).value_or(defaults.offset)};
    if (every.offset >= every.period)
        throw bad_file_error("{}: \"{}\" is {}; wanted is less than \"{}\", which is {}", fields.name(), offset_key,
                             every.offset, period_key, every.period);
    return every;
}

std::vector<std::int64_t> layers_with(const Every& every, std::int64_t layers) {
    std::vector<std::int64_t> all;
    for (std::int64_t layer = every.offset; layer < layers; layer += every.period) all.push_back(layer);
    return all;
}

Every experts_of(const ModelConfig& c) { return {c.own.integer("expert_period"), c.own.integer("expert_offset")}; }

// A single expert is an MLP.
void read_mixtures(const JsonFields& fields, ModelConfig& c) {
    const Every every = read_every(fields, "expert_layer_period", "expert_layer_offset", {2, 1});
    const char* key = fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
    if (fields.optional_integer(key, 1, max_experts) == 1 || every.offset >= c.layers) return;
    read_experts(fields, c, 16, 2);
    c.own.set("expert_period", every.period);
    c.own.set("expert_offset", every.offset);
}

void read_jamba(const JsonFields& fields, ModelConfig& c) {
    read_sizes(fields, c, {.kv_heads = 8, .inner = 14336, .context = 262144});
    c.norm_eps = fields.optional_number("rms_norm_eps", 0, 1).value_or(1e-6);
    c.activation = read_activation(fields, "hidden_act", "silu");
    c.tied = read_tied(fields, false);
    c.attending = layers_with(read_every(fields, "attn_layer_period", "attn_layer_offset", {8, 4}), c.layers);
    c.state_space = std::ssize(c.attending) < c.layers;
    read_mixtures(fields, c);
    c.absent = {joined_experts};  // until the checkpoint shows the joined layout
    const std::int64_t inner = fields.optional_integer("mamba_expand", 1, 64).value_or(2) * c.width;
    if (inner > max_width) fields.fail("mamba_expand", format("a product with the width of at most {}", max_width));
    read_mixers(fields, c, inner,
                {.states = "mamba_d_state",
                 .conv_width = "mamba_d_conv",
                 .conv_bias = "mamba_conv_bias",
                 .step_rank = "mamba_dt_rank",
                 .bias = "mamba_proj_bias"});
}

Tensor normalised_part(ModelBuilder& d, const std::string& name, Tensor part) {
    return d.rms_norm(name + "_layernorm", part);
}

Tensor attend(ModelBuilder& d, std::int64_t layer, Tensor x) {
    const QKV heads = llama_heads(d, x);
    return d.dense("self_attn.o_proj", d.attend(layer, heads.q, heads.k, heads.v), d.config.width, false);
}

Tensor feed_forward(ModelBuilder& d, std::int64_t layer, Tensor x) {
    if (d.config.experts == 0 || !experts_of(d.config).has(layer)) return gated_mlp(d, x, "feed_forward");
    const Graph::Scope scope = d.graph.scope("feed_forward");
    return gated_experts(d, layer, x, {.router = "router", .gate = "gate_proj", .up = "up_proj", .down = "down_proj"},
                         d.has(joined_experts), false);
}

void build_jamba(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.rms_norm("input_layernorm", x);
        x = x + d.drop(std::ranges::binary_search(c.attending, layer)
                           ? attend(d, layer, y)
                           : mamba_mixer(d, layer, "mamba", y, normalised_part));
        return x + d.drop(feed_forward(d, layer, d.rms_norm("pre_ff_layernorm", x)));
    });
    d.finish(
        last, [&](Tensor x) { return d.rms_norm("final_layernorm", x); }, [&](Tensor x) { return d.output(x, embed); });
}

// transformers has Mamba's rule for A, but not those for its convolutions and step sizes.
Initializer initial_jamba(const ModelConfig& c, const NamedTensor& tensor) {
    return tensor.ends_with({".A_log"}) ? initial_decays(tensor) : default_initializer(c, tensor);
}

}  // namespace

const Architecture jamba("jamba", "Jamba", {"model."}, read_jamba, build_jamba,
                         {.optional = {joined_experts},
                          .initial = {.padding = 0, .padded = {"embed_tokens.weight"}, .rule = initial_jamba}});

}  // namespace vantage::internal
