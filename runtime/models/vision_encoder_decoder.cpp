// An encoder–decoder whose source is an image: ViT as the encoder, GPT-2 with cross-attention as the decoder.
//   source = ln(ViT(image)), and W source + b where the decoder is wider or narrower;  logits = GPT-2(text, source)
// As transformers' VisionEncoderDecoderModel; Vaswani et al. 2017 (cross-attention), Dosovitskiy et al. 2020, Radford
// et al. 2019.
#include "runtime/base/errors.h"
#include "runtime/models/gpt2.h"
#include "runtime/models/vit.h"

namespace vantage::internal {

namespace {

// What is built of ViT's config, beside Encoder and ImageInput.
constexpr const char *encoder_eps = "encoder_norm_eps", *encoder_act = "encoder_activation",
                     *encoder_bias = "encoder_qkv_bias", *encoder_range = "encoder_initializer_range";

JsonFields part_of(const JsonFields& fields, const char* key, const char* type) {
    const JsonFields part = fields.object(key);
    if (part.text("model_type") != type) part.fail("model_type", in_quotes(type));
    return part;
}

void read_vision_encoder_decoder(const JsonFields& fields, ModelConfig& c) {
    const JsonFields encoder = part_of(fields, "encoder", "vit"), decoder = part_of(fields, "decoder", "gpt2");
    if (!decoder.optional_flag("add_cross_attention").value_or(false))
        decoder.fail("add_cross_attention", "true: a decoder that attends to the image");
    if (decoder.has("cross_attention_hidden_size")) decoder.fail("cross_attention_hidden_size", "null");
    c.kind = ModelKind::encoder_decoder;
    read_gpt2_fields(decoder, c);
    ModelConfig part;
    read_vit_blocks(encoder, part);
    if (part.head_width > 256) encoder.fail("num_attention_heads", "heads of at most 256 features");
    c.encoder = {.layers = part.layers, .heads = part.heads, .inner = part.inner, .width = part.width};
    c.image = part.image;
    c.own.set(encoder_eps, part.norm_eps);
    c.own.set(encoder_act, static_cast<std::int64_t>(part.activation));
    c.own.set(encoder_bias, part.qkv_bias);
    c.own.set(encoder_range, read_initializer_range(encoder, 0.02));
    c.initializer_range = read_initializer_range(decoder, 0.02);
    if (const std::string of = class_of(fields); !of.empty() && of != "VisionEncoderDecoderModel")
        fields.fail("architectures", "[\"VisionEncoderDecoderModel\"]");
    const auto token = [&](const char* key) {
        return (fields.has(key) ? fields : decoder).optional_integer(key, 0, c.vocab - 1);
    };
    const std::optional<std::int64_t> begins = token("decoder_start_token_id");
    c.start_token = begins ? *begins : token("bos_token_id").value_or(0);
    const JsonFields& ends = fields.has("eos_token_id") ? fields : decoder;
    c.end_tokens = ends.integers("eos_token_id", -1, max_vocab);
}

ModelConfig encoder_config(const ModelConfig& c) {
    ModelConfig part = c;
    part.kind = ModelKind::encoder;
    part.width = c.encoder_width(), part.heads = part.kv_heads = c.encoder.heads, part.inner = c.encoder.inner;
    part.head_width = part.width / part.heads;
    part.attention_scale = 0, part.scale_by_layer = false;
    part.norm_eps = c.own.number(encoder_eps);
    part.activation = static_cast<Activation>(c.own.integer(encoder_act));
    part.qkv_bias = c.own.flag(encoder_bias);
    part.initializer_range = c.own.number(encoder_range);
    return part;
}

void build_encoder(ModelBuilder& d) {
    const ModelConfig config = encoder_config(d.config);
    ModelBuilder part(d, config);
    Tensor seen;
    {
        const Graph::Scope encoder = d.graph.scope("encoder");
        seen = part.layer_norm("layernorm", vit_blocks(part));
    }
    const bool projected = config.width != d.config.width;
    const Tensor source = projected ? d.dense("enc_to_dec_proj", seen, d.config.width, true) : seen;
    {
        const Graph::Scope decoder = d.graph.scope("decoder.transformer");
        write_gpt2_cross_kv(d, source);
    }
    d.finish_encoder(seen);
}

void build_decoder(ModelBuilder& d) {
    const Graph::Scope decoder = d.graph.scope("decoder");
    Tensor words, last;
    {
        const Graph::Scope body = d.graph.scope("transformer");
        words = gpt2_words(d);
        last = gpt2_blocks(d, words);
    }
    d.finish(last, "transformer.ln_f", words);
}

Initializer initial_vision_encoder_decoder(const ModelConfig& c, const NamedTensor& tensor) {
    return tensor.name.starts_with("encoder.") ? default_initializer(encoder_config(c), tensor)
                                               : initial_gpt2(c, tensor);
}

}  // namespace

const Architecture vision_encoder_decoder("vision-encoder-decoder", "VisionEncoderDecoder", {},
                                          read_vision_encoder_decoder, build_decoder,
                                          {.build_encoder = build_encoder,
                                           // ViT's pooler, masks, and a copy of the tied table
                                           .ignored = {"encoder.pooler.dense.weight", "encoder.pooler.dense.bias",
                                                       ".attn.bias", ".attn.masked_bias", ".crossattention.bias",
                                                       ".crossattention.masked_bias", "decoder.lm_head.weight"},
                                           .initial = {.rule = initial_vision_encoder_decoder}});

}  // namespace vantage::internal
