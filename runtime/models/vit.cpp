// ViT: a pre-norm encoder whose tokens are a class token followed by the patches of an image.
//   x = [class; W patch + b] + position;  per block  x += attention(ln_1(x)),  x += mlp(ln_2(x));  then ln(x)
//   classification: W x_0 + b;  pooler of the bare model: tanh(W x_0 + b)
// Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale" (2020).
#include "runtime/models/vit.h"

#include <tuple>

#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t max_pixels_a_side = 1 << 13;
constexpr const char* vit_pooler = "pooler.dense.weight";  // base models may omit it

// One number for both, or [height, width].
std::pair<std::int64_t, std::int64_t> height_and_width(const JsonFields& fields, const char* key,
                                                       std::int64_t default_value) {
    const std::vector<std::int64_t> sides = fields.integers(key, 1, max_pixels_a_side);
    if (!fields.has(key)) return {default_value, default_value};
    if (sides.empty() || sides.size() > 2) fields.fail(key, "one number, or [height, width]");
    return {sides.front(), sides.back()};
}

}  // namespace

ImageInput read_image_input(const JsonFields& fields, std::int64_t patch) {
    ImageInput i;
    i.channels = fields.optional_integer("num_channels", 1, 1024).value_or(3);
    std::tie(i.height, i.width) = height_and_width(fields, "image_size", 224);
    std::tie(i.patch_height, i.patch_width) = height_and_width(fields, "patch_size", patch);
    if (i.height % i.patch_height != 0 || i.width % i.patch_width != 0)
        throw bad_file_error(
            "{}: \"image_size\" is {} × {}, which does not divide into patches of {} × {} (\"patch_size\")",
            fields.name(), i.height, i.width, i.patch_height, i.patch_width);
    return i;
}

void read_vit_blocks(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    c.inner = fields.integer("intermediate_size", 1, max_width);
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-12);
    c.activation = read_activation(fields, "hidden_act", "gelu");
    c.qkv_bias = fields.optional_flag("qkv_bias").value_or(true);
    c.tied = false;
    c.image = read_image_input(fields, 16);
    c.context = c.image.places();
}

Tensor embed_image(ModelBuilder& d, const std::string& projection, bool bias, Tensor first, Tensor positions) {
    const std::int64_t width = d.config.width;
    const ImageInput& i = d.config.image;
    const std::int64_t images = d.options.sequences;
    const Tensor image = d.numbers_of_rows(model_names::pixels, {images, i.channels, i.height, i.width}, DType::f32);
    const Tensor patches =
        patch_embed(image, d.graph.weight(projection + ".weight", {width, i.channels, i.patch_height, i.patch_width}),
                    bias ? d.graph.weight(projection + ".bias", {width}) : Tensor());
    const auto rows = [&](Tensor x, std::int64_t count) { return d.graph.reshape(x, {count, width}); };
    if (images == 1) return concat(rows(first, 1), rows(patches, i.rows() * i.columns())) + rows(positions, i.places());
    const std::vector<std::int32_t> same(static_cast<std::size_t>(images));
    const Tensor firsts =
        d.graph.reshape(embedding(d.integers("class tokens", same), rows(first, 1)), {images, 1, width});
    return rows(concat(firsts, patches, 1) + rows(positions, i.places()), images * i.places());
}

Tensor vit_blocks(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    Tensor first;
    {
        const Graph::Scope scope = d.graph.scope("embeddings");
        first = embed_image(d, "patch_embeddings.projection", true, d.graph.weight("cls_token", {1, 1, c.width}),
                            d.graph.weight("position_embeddings", {1, c.image.places(), c.width}));
    }
    return d.blocks("encoder.layer", first, [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm("layernorm_before", x);
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, y, c.width, c.qkv_bias), c.heads); };
        const Tensor seen = d.attend(layer, heads("attention.attention.query"), heads("attention.attention.key"),
                                     heads("attention.attention.value"));
        x = x + d.drop(d.dense("attention.output.dense", seen, c.width, true));
        const Tensor z = d.layer_norm("layernorm_after", x);
        const Tensor inner = activate(d.dense("intermediate.dense", z, c.inner, true), c.activation);
        return x + d.drop(d.dense("output.dense", inner, c.width, true));
    });
}

namespace {

void read_vit(const JsonFields& fields, ModelConfig& c) {
    read_vit_blocks(fields, c);
    read_head(fields, c);
    if (c.head != Head::none && c.head != Head::classification)
        fields.fail("architectures", "ViTModel or ViTForImageClassification");
    if (c.head == Head::none) {
        const std::string act = fields.optional_text("pooler_act").value_or("tanh");
        if (act != "tanh") fields.fail("pooler_act", "\"tanh\"");
        c.own.set("pooler_output_size", fields.optional_integer("pooler_output_size", 1, max_width).value_or(c.width));
    }
}

void build_vit(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor last = vit_blocks(d);
    d.finish_encoder(last);
    const Tensor normed = d.layer_norm("layernorm", last), answer = d.first_row(normed);
    d.graph.output(model_names::last_hidden, normed);
    if (c.head == Head::classification)
        d.graph.output(model_names::logits, d.dense("classifier", answer, std::ssize(c.labels), true));
    else if (d.has(vit_pooler))
        d.graph.output(
            model_names::pooled,
            activate(d.dense("pooler.dense", answer, c.own.integer("pooler_output_size"), true), Activation::tanh));
}

}  // namespace

// transformers truncates the initial class token and positions at ±2: at 100 deviations, which no number reaches.
const Architecture vit("vit", "ViT", {"vit."}, read_vit, build_vit,
                       {.bare = {"classifier."},
                        .ignored = {"pooler.dense.weight", "pooler.dense.bias"},
                        .optional = {vit_pooler}});

}  // namespace vantage::internal
