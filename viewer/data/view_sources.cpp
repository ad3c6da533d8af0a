#include "viewer/data/view_sources.h"

#include <bit>
#include <cstring>

#include "runtime/base/at.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/ops/attention_weights.h"
#include "shaders/params/attention.h"

namespace vantage::view {

namespace {

// The launch that the op attention_weights would make for a window of this layer: it knows all rules, so the viewer's
// kernels take its specialization constants, and numbers, from there.
Launch launch_of(const TapSource& source, const Caps& caps) {
    using namespace ops::attention_weights;
    Attrs attrs = source.attrs;
    for (const char* name : {"head", "first_row", "first_key", "position"}) attrs.set(name, std::int64_t{0});
    for (const char* name : {"rows", "keys"}) attrs.set(name, std::int64_t{1});
    OpCall call{.op = &attention_weights_op, .attrs = std::move(attrs), .inputs = {}, .outputs = {}};
    call.inputs.resize(call.op->operands.size());
    call.inputs[q_] = source.q.type, call.inputs[k_] = source.k.type, call.inputs[lse_] = source.lse.type;
    call.inputs[position_bias_] = source.position_bias.type, call.inputs[block_mask_] = source.block_mask.type;
    call.outputs = call.op->infer(call);
    return choose_kernel(call, caps)->launch(call, caps).launches.front();
}

params::uvec2 address_of(const TapSource::Data& data, std::uint64_t other) {
    return address_words(data.buffer ? data.buffer.address() : other | 1);
}

// On CPUs, reads dominate the cost. So each of the few lanes owns many rows, and a workgroup is one subgroup without
// barriers, whose lanes read for each other if they can. With wide heads the queries of a lane do not fit its
// registers.
ViewSources::Layer::Stream stream_of(std::uint32_t width, const Caps& caps) {
    constexpr std::uint32_t widest = 128;
    if (width % 4 != 0 || width > widest) return {};
    if (caps.is_cpu()) {
        const std::uint32_t lanes = std::bit_floor(caps.subgroup_size);
        const bool share = caps.subgroup_shuffle && lanes == caps.subgroup_size && lanes > 1;
        return {.lanes = lanes,
                .each = 8,
                .keys = share ? std::max(4 * lanes / width, 1u) : 1,
                .subgroup = share,
                .min_level = 1};
    }
    return {.lanes = workgroup_size(caps, 64), .each = 1, .keys = 4};
}

ViewSources::Layer layer_of(const TapSource& source, const Caps& caps) {
    Launch launch = launch_of(source, caps);
    params::AttentionWeightsParams p;
    std::memcpy(&p, launch.params.data(), sizeof p);
    const std::uint64_t q = source.q.buffer.address();
    const params::uvec2 none = address_words(q | 1);
    ViewSources::Layer layer{.tapped = &source, .spec = std::move(launch.spec)};
    layer.sizes = {.q = address_words(q),
                   .k = address_of(source.k, q),
                   .v = address_of(source.v, q),
                   .lse = address_of(source.lse, q),
                   .mask = none,
                   .position_bias = address_of(source.position_bias, q),
                   .block_mask = address_of(source.block_mask, q),
                   .segments = none,
                   .n = p.n,
                   .m = p.m,
                   .heads = p.heads,
                   .kv_heads = p.kv_heads,
                   .d = p.d,
                   .dv = source.v.type ? u32(source.v.type->shape[2]) : 0,
                   .causal = p.causal,
                   .scale = p.scale};
    // not of kinds that have no products of queries and keys to stream
    if (!source.attrs.has("feature") && source.attrs.text("position_bias", "") != "additive")
        layer.stream = stream_of(p.d, caps);
    layer.causal = p.causal != 0 && !source.attrs.has("prefix_len");
    return layer;
}

}  // namespace

gpu::PipelineKey ViewSources::Layer::stream_kernel(int level) const {
    gpu::PipelineKey key = kernel(stream.subgroup ? "view_stream_subgroup" : "view_stream");
    auto constants = params::ViewStreamConstants::of(key.spec);
    constants.lanes = stream.lanes;
    constants.D = sizes.d, constants.EACH = stream.rows_of_lane(level), constants.KEYS = stream.keys;
    key.spec = constants;
    return key;
}

bool ViewSources::Layer::streams(int level, std::int64_t rows) const {
    return stream.lanes > 0 && level >= stream.min_level && rows >= stream.rows(level) / 4;
}

ViewSources::ViewSources(const LiveModel& live) {
    gpu::DeviceState& device = live.model().device().state();
    std::vector<gpu::PipelineKey> keys;
    for (const HeadId& head : live.heads()) {
        if (head.head != 0) continue;
        number_[{head.kind, head.layer}] = layers_.size();
        layers_.push_back(layer_of(live.source(head.layer, head.kind), device.caps()));
        Layer& layer = layers_.back();
        layer.kind = head.kind, layer.layer = head.layer;
        for (const char* shader : {"view_tile", "view_factors", "view_hovered_weight", "view_excerpt"})
            keys.push_back(layer.kernel(shader));
        constexpr int every_form = 4;  // levels from the least on
        for (int more = 0; layer.stream.lanes > 0 && more < every_form; ++more)
            keys.push_back(layer.stream_kernel(layer.stream.min_level + more));
    }
    gpu::prepare_pipelines(device, keys);
    buffer_ =
        gpu::allocate(device, layers_.size() * sizeof(params::ViewSource), gpu::MemoryKind::shared, "view.sources");
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        layers_[i].address = buffer_.address() + i * sizeof(params::ViewSource);
        std::memcpy(buffer_.mapped() + i * sizeof(params::ViewSource), &layers_[i].sizes, sizeof(params::ViewSource));
    }
}

}  // namespace vantage::view
