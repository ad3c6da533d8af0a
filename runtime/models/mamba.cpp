// Mamba: no attention, but a state of fixed size that each token changes by step sizes, B and C of its own.
//   x = embed[token];  per block  x += out(y ∘ silu(z)),  [u | z] = in(rms(x)),  c = silu(conv(u)),
//   [Δ' | B | C] = proj(c),  Δ = softplus(dt Δ'),  h = exp(Δ A) ∘ h + Δ B c,  y = C·h + D c;
//   logits = rms(x) headᵀ
// Gu & Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces" (2023).
#include "runtime/models/mamba.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/portable_math.h"

namespace vantage::internal {

namespace {

// A state holds any length. The default context is the length of the texts in training.
constexpr std::int64_t longest_mamba_text = 1 << 20, mamba_training_context = 2048;

// A number, or "auto": a sixteenth of the width.
std::int64_t read_step_rank(const JsonFields& fields, const ModelConfig& c, const char* key) {
    const bool automatic = !fields.has(key) || (fields.json().at(key).is_string() && fields.text(key) == "auto");
    return automatic ? (c.width + 15) / 16 : fields.integer(key, 1, max_width);
}

// As in transformers, "intermediate_size" has priority: Falcon Mamba's "expand" is not the one that it has.
std::int64_t read_inner_width(const JsonFields& fields, const ModelConfig& c) {
    const std::int64_t inner = fields.optional_integer("expand", 1, 64).value_or(2) * c.width;
    if (const auto own = fields.optional_integer("intermediate_size", 1, max_width)) return *own;
    if (inner > max_width) fields.fail("expand", format("a product with the width of at most {}", max_width));
    return inner;
}

}  // namespace

void read_mixers(const JsonFields& fields, ModelConfig& c, std::int64_t channels, const MambaKeys& keys) {
    c.own.set("channels", channels);
    c.own.set("states", fields.optional_integer(keys.states, 1, 1024).value_or(16));
    c.own.set("conv_width", fields.optional_integer(keys.conv_width, 2, 32).value_or(4));
    c.own.set("conv_bias", fields.optional_flag(keys.conv_bias).value_or(true));
    c.own.set("step_rank", read_step_rank(fields, c, keys.step_rank));
    c.own.set("mixer_bias", fields.optional_flag(keys.bias).value_or(false));
}

namespace {

// How step sizes begin.
void read_steps(const JsonFields& fields, ModelConfig& c) {
    const auto number = [&](const char* key, double least, double default_value) {
        c.own.set(key, fields.optional_number(key, least, 1e6).value_or(default_value));
    };
    number("time_step_min", 1e-30, 0.001);
    number("time_step_max", 1e-30, 0.1);
    number("time_step_floor", 0, 1e-4);
    number("time_step_scale", 0, 1);
    const std::string scheme = fields.optional_text("time_step_init_scheme").value_or("random");
    if (scheme != "random" && scheme != "constant") fields.fail("time_step_init_scheme", "random or constant");
    c.own.set("time_step_init_scheme", scheme);
    c.own.set("rescale_prenorm_residual", fields.optional_flag("rescale_prenorm_residual").value_or(false));
}

}  // namespace

void read_mamba(const JsonFields& fields, ModelConfig& c) {
    c.layers = one_integer(fields, {"n_layer", "num_hidden_layers"}, max_layers);
    c.width = one_integer(fields, {"d_model", "hidden_size"}, max_width);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.inner = read_inner_width(fields, c);
    c.state_space = true;
    c.context = longest_mamba_text;
    c.default_context = mamba_training_context;
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "hidden_act", "silu");
    c.tied = read_tied(fields, true);
    read_mixers(fields, c, c.inner,
                {.states = "state_size",
                 .conv_width = "conv_kernel",
                 .conv_bias = "use_conv_bias",
                 .step_rank = "time_step_rank",
                 .bias = "use_bias"});
    read_steps(fields, c);
}

Tensor mamba_mixer(ModelBuilder& d, std::int64_t layer, const char* name, Tensor x, Select select) {
    const ModelConfig& c = d.config;
    const std::int64_t channels = c.own.integer("channels"), states = c.own.integer("states"),
                       conv_width = c.own.integer("conv_width"), rank = c.own.integer("step_rank");
    const bool bias = c.own.flag("mixer_bias");
    const Graph::Scope scope = d.graph.scope(name);
    const Tensor projected = d.dense("in_proj", x, 2 * channels, bias);  // [n, u | z]
    const Tensor gate = columns(projected, channels, channels);
    const Tensor u =
        d.together(causal_conv1d(d.apart(columns(projected, 0, channels)),
                                 d.graph.weight("conv1d.weight", {channels, 1, conv_width}),
                                 c.own.flag("conv_bias") ? d.graph.weight("conv1d.bias", {channels}) : Tensor(),
                                 {.activation = c.activation,
                                  .state = d.kept(model_names::conv_inputs(layer), {conv_width - 1, channels}),
                                  .step = d.step})
                       .y);
    const Tensor parts = d.dense("x_proj", u, rank + 2 * states, false);  // [n, delta | B | C]
    const auto part = [&](const char* which, std::int64_t first, std::int64_t count) {
        const Tensor some = columns(parts, first, count);
        return select != nullptr ? select(d, which, some) : some;
    };
    const Tensor y = d.together(state_space(d.apart(u),
                                            {.delta = d.apart(d.dense("dt_proj", part("dt", 0, rank), channels, true)),
                                             .a = d.graph.weight("A_log", {channels, states}),
                                             .b = d.apart(part("b", rank, states)),
                                             .c = d.apart(part("c", rank + states, states)),
                                             .d = d.graph.weight("D", {channels})},
                                            {.log_a = true,
                                             .softplus = true,
                                             .state = d.kept(model_names::state_space(layer), {channels, states}),
                                             .step = d.step})
                                    .y);
    return d.dense("out_proj", swiglu(gate, y, {.activation = c.activation}), c.width, bias);
}

void build_mamba_with(ModelBuilder& d, Select select) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embeddings.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        return x + d.drop(mamba_mixer(d, layer, "mixer", d.rms_norm("norm", x), select));
    });
    d.finish(
        last, [&](Tensor x) { return d.rms_norm("norm_f", x); }, [&](Tensor x) { return d.output(x, embed); });
}

// Gu, Goel, Gupta, Ré, "On the Parameterization and Initialization of Diagonal State Space Models" (2022).
Initializer initial_decays(const NamedTensor& a_log) {
    return [states = a_log.shape[-1]](const TensorRandom&, std::span<float> values) {
        for (std::int64_t i = 0; i < std::ssize(values); ++i)
            at(values, i) = static_cast<float>(portable_log(static_cast<double>(1 + i % states)));
    };
}

namespace {

// With the bias b = ln(e^Δ - 1) = Δ + ln(1 - e^-Δ) the step size softplus(b) is Δ, whose logarithm is uniform.
Initializer initial_steps(const ModelConfig& c) {
    const double low = portable_log(c.own.number("time_step_min")), high = portable_log(c.own.number("time_step_max")),
                 floor = c.own.number("time_step_floor");
    return uniform_initializer([=](double u) {
        const double step = std::max(portable_exp(std::fma(u, high - low, low)), floor);
        if (step < 1e-6) return portable_log(step) + step / 2;  // its series
        return step + portable_log(1 - portable_exp(-step));
    });
}

}  // namespace

// As the authors' code and transformers: out_proj and the convolution as torch initialises them, out_proj times
// 1/√layers with rescale_prenorm_residual; D = 1.
Initializer initial_mamba(const ModelConfig& c, const NamedTensor& tensor) {
    if (tensor.ends_with({".A_log"})) return initial_decays(tensor);
    if (tensor.ends_with({".conv1d.weight"})) return torch_initializer(tensor.shape[-1]);
    if (tensor.ends_with({".out_proj.weight"}))
        return torch_initializer(tensor.shape[-1] * (c.own.flag("rescale_prenorm_residual") ? c.layers : 1));
    if (tensor.ends_with({".dt_proj.bias"})) return initial_steps(c);
    if (tensor.ends_with({".dt_proj.weight"})) {
        const double scale = c.own.number("time_step_scale") / std::sqrt(static_cast<double>(tensor.shape[-1]));
        return c.own.text("time_step_init_scheme") == "constant" ? constant_initializer(scale)
                                                                 : uniform_initializer(scale);
    }
    return default_initializer(c, tensor);
}

const Architecture mamba("mamba", "Mamba", {"backbone."}, read_mamba,
                         [](ModelBuilder& d) { build_mamba_with(d, nullptr); },
                         {.initial = {.range = mamba_range, .rule = initial_mamba}});

}  // namespace vantage::internal
