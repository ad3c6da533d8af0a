// An image cut into patches, each one a row: what a vision transformer embeds by a linear layer.
//   x [B, C, H, W] -> y [B, H/h W/w, C h w], patches of h × w row by row, within one [channel][row][column]
// Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020): patch_embed(x) = patches(x) Wᵀ + b, a convolution whose
// stride is its size.
#include "runtime/ops/patches.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/patches.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::patches {
namespace {

struct PatchSize {
    std::int64_t height, width;
};
PatchSize patch_of(const OpCall& call) {
    return {call.attrs.integer("patch_height", 1), call.attrs.integer("patch_width", 1)};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    const PatchSize patch = patch_of(call);
    const auto divides = [](std::int64_t edge, std::int64_t whole) {
        return edge > 0 && edge <= 1 << 15 && whole % edge == 0;
    };
    call.require(x.shape.rank() == 4, operand_is(call, x_) + ", but must be [batch, channels, height, width]");
    call.require(
        divides(patch.height, x.shape[2]) && divides(patch.width, x.shape[3]),
        operand_is(call, x_) + format(", which does not divide into patches of {} × {}", patch.height, patch.width));
    return {{Shape{x.shape[0], x.shape[2] / patch.height * (x.shape[3] / patch.width),
                   x.shape[1] * patch.height * patch.width},
             x.dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Shape& x = call.in(x_).shape;
    const PatchSize patch = patch_of(call);
    const std::int64_t columns = x[3] / patch.width;
    std::int64_t to = 0;
    for (std::int64_t b = 0; b < x[0]; ++b)
        for (std::int64_t index = 0; index < call.out(0).shape[1]; ++index)
            for (std::int64_t c = 0; c < x[1]; ++c)
                for (std::int64_t i = 0; i < patch.height; ++i)
                    for (std::int64_t j = 0; j < patch.width; ++j)
                        out[0][to++] = in[x_][((b * x[1] + c) * x[2] + index / columns * patch.height + i) * x[3] +
                                              index % columns * patch.width + j];
}

Cost cost(const OpCall& call) { return streaming_cost(call, 0); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& x = call.in(x_).shape;
    const PatchSize patch = patch_of(call);
    Launch l{.shader = "patches",
             .spec = params::PatchesConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, x_)},
             .operands = {in(x_), out(0)},
             .groups = element_grid(call.out(0).shape.elements(), 1, caps)};
    return l.with(params::PatchesParams{.count = u32(call.out(0).shape.elements()),
                                        .channels = u32(x[1]),
                                        .height = u32(x[2]),
                                        .width = u32(x[3]),
                                        .patch_height = u32(patch.height),
                                        .patch_width = u32(patch.width),
                                        .columns = u32(x[3] / patch.width)});
}

// [B, H/h, W/w, C h, w] -> [B, H/h, C, h W/w w] -> [B, C, H/h, h W]: two exchanges of axes.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Shape& x = g.inputs[x_].shape();
    const std::int64_t h = g.call.attrs.integer("patch_height", 1), w = g.call.attrs.integer("patch_width", 1),
                       down = x[2] / h, across = x[3] / w;
    Graph graph = g.inputs[x_].graph();
    const auto swapped = [&](const Tensor& t, const Shape& as) {
        return vantage::merge_heads(graph.reshape(t, as, g.where), g.where);
    };
    const Tensor lines = swapped(g.gradients[0], {x[0] * down, across, x[1] * h, w});
    return {graph.reshape(swapped(lines, {x[0], down, x[1], h * x[3]}), x, g.where)};
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](Shape x, std::int64_t height, std::int64_t width) {
        list.push_back({.name = x.text() + format(" by {} x {}", height, width),
                        .attrs = {{"patch_height", height}, {"patch_width", width}},
                        .inputs = {floats(x)}});
    };
    add({2, 3, 12, 18}, 6, 6);
    add({1, 1, 5, 7}, 1, 1);
    add({3, 2, 9, 8}, 3, 4);
    add({0, 3, 4, 4}, 2, 2);
    return list;
}

}  // namespace

const OpDef patches_op =
    define_op("patches", "an image's patches as rows: [B, C, H, W] -> [B, H/h W/w, C h w] (Dosovitskiy et al. 2020)",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace internal::ops::patches

Tensor patches(Tensor x, std::int64_t height, std::int64_t width, SourceLocation where) {
    return add_call(x.graph(), patches_op, {x}, {{"patch_height", height}, {"patch_width", width}}, where)[0];
}

Tensor patch_embed(Tensor x, Tensor weight, Tensor bias, SourceLocation where) {
    const Shape w = weight.shape();  // [out, channels, h, w]
    if (w.rank() != 4)
        throw Error(ErrorKind::usage,
                    "patch_embed: weight is " + weight.type().text() + ", but must be [out, channels, height, width]",
                    where);
    return linear_transposed(patches(x, w[2], w[3], where),
                             weight.graph().reshape(weight, {w[0], w[1] * w[2] * w[3]}, where), bias, where);
}

}  // namespace vantage
