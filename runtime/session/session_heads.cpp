// Heads one by one: silenced ones, and how long their values are before and behind the output projection.
#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/fuse.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/matmul.h"
#include "runtime/session/session_state.h"

namespace vantage {

std::string name_of(const HeadId& place) {
    const char* whose = place.kind == AttentionKind::self ? "" : place.kind == AttentionKind::encoder ? "e" : "x";
    return format("%s%lld.%lld", whose, static_cast<long long>(place.layer), static_cast<long long>(place.head));
}

namespace {

std::vector<HeadId> in_encoder(std::span<const HeadId> places) {
    std::vector<HeadId> some;
    std::ranges::copy_if(places, std::back_inserter(some),
                         [](const HeadId& place) { return place.kind == AttentionKind::encoder; });
    return some;
}

}  // namespace

void Session::mask_heads(std::span<const HeadId> heads) {
    State& s = *state_;
    if (!s.options.masked_heads)
        throw Error(ErrorKind::usage,
                    "heads can be silenced in a session that was made with SessionOptions::masked_heads");
    s.finish_flight();
    const std::vector<HeadId> before = std::exchange(*s.options.masked_heads, {heads.begin(), heads.end()});
    try {
        s.set_head_mask();
    } catch (const Error&) {
        *s.options.masked_heads = before;
        throw;
    }
    s.replay.reset();
    s.forget_results(s.sequence);
    s.sequence.ended = s.step_current = false;
    if (!s.is_encoder()) s.mark_seen(0);
    if (s.sequence.source.empty() || in_encoder(before) == in_encoder(heads)) return;
    s.sequence.source_waits = true;
    for (std::vector<float>& stream : s.sequence.source_hidden) stream.clear();
}

// W_O of a layer as rows [features of the heads, width of the model]: the matrix that the attention's output is multiplied with.
std::vector<float> Session::State::output_projection(std::int64_t layer, std::int64_t features,
                                                     AttentionKind kind) const {
    Graph transposed = graph_of(kind).copy();
    transpose_weights(transposed);  // as the weights were loaded
    int joined = -1;                // the heads' outputs, masked or not
    for (const Node& node : transposed.nodes()) {
        const auto reads_heads = [&](std::size_t operand) {
            return transposed.storage(node.inputs[operand]) == joined;
        };
        if (node.op == &attention_op && transposed.value(transposed.storage(node.inputs[ops::attention::k_])).name ==
                                            model_names::keys(layer, kind))
            joined = node.outputs[ops::attention::o_];
        if (node.op == &mul_op && reads_heads(ops::elementwise::a_)) joined = node.outputs[0];
        if (node.op != &matmul_op || !reads_heads(ops::matmul::a_)) continue;
        const int matrix_id = node.inputs[ops::matmul::b_];
        const Value& weight = transposed.value(transposed.storage(matrix_id));
        const TensorType type = transposed.value(matrix_id).type;
        std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
        gpu::download(device, bindings->buffers.at(weight.name), 0, bytes);
        const HostTensor matrix = widen(type, bytes);
        const bool turned = node.attrs.flag("transpose_b");
        const std::int64_t width = type.shape[turned ? 0 : 1];
        std::vector<float> rows(static_cast<std::size_t>(features * width));
        for (std::int64_t i = 0; i < features; ++i)
            for (std::int64_t o = 0; o < width; ++o)
                rows[static_cast<std::size_t>(i * width + o)] =
                    static_cast<float>(matrix[turned ? o * features + i : i * width + o]);
        return rows;
    }
    throw Error(ErrorKind::unsupported,
                format("%s: the attention of layer %lld has no output projection that is a matrix",
                       model.info().name.c_str(), static_cast<long long>(layer)));
}

namespace {

/// W_hᵀ W_h of a head [Dv, Dv], W_h its rows of W_O: ‖W_h v‖² = vᵀ (W_hᵀ W_h) v costs Dv² a token, not Dv times the width.
std::vector<double> gram(std::span<const float> rows, std::size_t dv) {
    const std::size_t width = rows.size() / dv;
    std::vector<double> products(dv * dv);
    for (std::size_t a = 0; a < dv; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
            double sum = 0;
            for (std::size_t o = 0; o < width; ++o)
                sum += static_cast<double>(rows[a * width + o]) * static_cast<double>(rows[b * width + o]);
            products[a * dv + b] = products[b * dv + a] = sum;
        }
    return products;
}

}  // namespace

std::vector<float> Session::value_norms(std::int64_t layer, bool projected, AttentionKind kind) {
    State& s = *state_;
    s.check_head(layer, 0, kind);
    if (s.global_rows(layer) > 0)
        throw Error(ErrorKind::unsupported, s.model.info().name +
                                                ": global tokens read values of their own, whose "
                                                "lengths are not told apart");
    s.settle();
    const Value& value = *std::ranges::find(s.graph_of(kind).values(), model_names::values(layer, kind), &Value::name);
    const TensorType type{Shape{s.keys_of(kind), value.type.shape[1], value.type.shape[2]}, value.type.dtype};
    std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
    gpu::download(s.device, s.bindings->buffers.at(value.name), 0, bytes);
    const HostTensor v = widen(type, bytes);
    const auto tokens = static_cast<std::size_t>(s.keys_of(kind)),
               heads = static_cast<std::size_t>(s.model.info().heads_of(kind)),
               kv_heads = static_cast<std::size_t>(type.shape[1]), dv = static_cast<std::size_t>(type.shape[2]);
    const std::vector<float> w =
        projected ? s.output_projection(layer, static_cast<std::int64_t>(heads * dv), kind) : std::vector<float>();
    std::vector<float> norms(tokens * heads);
    for (std::size_t head = 0; head < heads; ++head) {
        const std::vector<double> metric =
            projected ? gram(std::span(w).subspan(head * (w.size() / heads), w.size() / heads), dv)
                      : std::vector<double>();
        for (std::size_t token = 0; token < tokens; ++token) {
            const double* x = &v.data[(token * kv_heads + head / (heads / kv_heads)) * dv];
            double square = 0;
            for (std::size_t a = 0; a < dv; ++a)
                if (!projected)
                    square += x[a] * x[a];
                else
                    for (std::size_t b = 0; b < dv; ++b) square += x[a] * metric[a * dv + b] * x[b];
            norms[token * heads + head] = static_cast<float>(std::sqrt(std::max(square, 0.0)));
        }
    }
    return norms;
}

}  // namespace vantage
