#include "runtime/models/head_projections.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/models/adapters.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/cached_linear_attention.h"
#include "runtime/ops/dequantize.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/split_qkv.h"
#include "runtime/ops/write.h"

namespace vantage::internal {

namespace {

/// The node that computes a value, through views; null for values that no node computes.
const Node* producer(const Graph& graph, int id) {
    while (graph.value(id).kind == ValueKind::view) id = graph.value(id).alias;
    const int node = graph.value(id).node;
    return node < 0 ? nullptr : &graph.nodes()[static_cast<std::size_t>(node)];
}

const Node& attention_of(const Graph& graph, std::int64_t layer, AttentionKind kind) {
    const auto found = std::ranges::find_if(
        graph.nodes(), [&](const Node& node) { return attends_to(graph, node, model_names::keys(layer, kind)); });
    if (found == graph.nodes().end())
        throw unsupported_error("layer {} of this model has no attention that keeps its keys", layer);
    return *found;
}

/// Whether a product has no adapter, and is no part of one. In a graph as it is built only those add to a product.
bool is_plain(const Graph& graph, const Node& product) {
    if (is_adapter(graph.value(graph.storage(product.inputs[ops::matmul::b_])).name)) return false;
    return std::ranges::none_of(graph.nodes(), [&](const Node& node) {
        return node.op == &matmul_op && node.inputs[ops::matmul::residual_] == product.outputs[0];
    });
}

HeadMatrix matrix_of(const Graph& graph, const Node& product, bool makes_features) {
    HeadMatrix matrix;
    matrix.weight = graph.storage(product.inputs[ops::matmul::b_]);
    matrix.features_first = product.attrs.flag("transpose_b") == makes_features;
    if (const Node* before = producer(graph, product.inputs[ops::matmul::a_]))
        if (before->op == &layer_norm_op || before->op == &rms_norm_op)
            matrix.norm = static_cast<int>(before - graph.nodes().data());
    return matrix;
}

/// Where the features of head `head` begin among those of a packed projection.
std::int64_t packed_feature(const Attrs& attrs, int result, std::int64_t head, std::int64_t width) {
    const std::int64_t heads = attrs.integer("heads", 1), kv_heads = attrs.integer("kv_heads", heads),
                       group = heads / kv_heads;
    using namespace ops::split_qkv;
    if (attrs.text("layout", "concat") == "per_head") {
        const std::int64_t kv_head = result == q_ ? head / group : head;
        return (kv_head * (group + 2) + (result == q_ ? head % group : group + (result == v_ ? 1 : 0))) * width;
    }
    return (head + (result == q_ ? 0 : heads) + (result == v_ ? kv_heads : 0)) * width;
}

/// The product that makes the heads [.., count, head width] of this value, for so many query heads.
HeadMatrix heads_behind(const Graph& graph, int id, std::int64_t heads) {
    const Shape shape = graph.value(id).type.shape;
    const std::int64_t count = shape[-2], width = shape[-1];
    const Attrs* packing = nullptr;
    int result = 0;
    for (const Node* node = producer(graph, id); node != nullptr; node = producer(graph, id)) {
        if (node->op == &matmul_op && is_plain(graph, *node)) {
            HeadMatrix matrix = matrix_of(graph, *node, true);
            matrix.head_width = width;
            for (std::int64_t head = 0; head < heads; ++head) {
                const std::int64_t own = head / (heads / count);
                matrix.first.push_back(packing ? packed_feature(*packing, result, own, width) : own * width);
            }
            return matrix;
        }
        if (node->op == &split_qkv_op) {
            packing = &node->attrs;
            while (graph.value(id).kind == ValueKind::view) id = graph.value(id).alias;
            result = static_cast<int>(std::ranges::find(node->outputs, id) - node->outputs.begin());
        }
        const bool first_operand = node->op == &rope_op || node->op == &rms_norm_op || node->op == &layer_norm_op ||
                                   node->op == &scale_op || node->op == &split_qkv_op;
        if (!first_operand && node->op != &write_op) break;
        id = node->inputs[static_cast<std::size_t>(node->op == &write_op ? ops::write::rows_ : 0)];
    }
    throw unsupported_error("the heads of this model are not made by products with matrices alone");
}

}  // namespace

bool attends_to(const Graph& graph, const Node& node, const std::string& keys) {
    static_assert(static_cast<int>(ops::attention::k_) == static_cast<int>(ops::cached_linear_attention::k_));
    if (node.op != &attention_op && node.op != &cached_linear_attention_op) return false;
    const int read = ops::dequantize::cache_of(graph, node.inputs[ops::attention::k_]);
    return graph.value(graph.storage(read)).name == keys;
}

HeadMatrix output_projection(const Graph& graph, std::int64_t layer, AttentionKind kind) {
    const Node& attention = attention_of(graph, layer, kind);
    const Shape o = graph.value(attention.outputs[ops::attention::o_]).type.shape;
    int joined = attention.outputs[ops::attention::o_];  // the heads' outputs, masked or shifted or not
    for (const Node& node : graph.nodes()) {
        const auto reads_heads = [&](int operand) {
            return graph.storage(node.inputs[static_cast<std::size_t>(operand)]) == joined;
        };
        if ((node.op == &mul_op || node.op == &add_op) && reads_heads(ops::elementwise::a_)) joined = node.outputs[0];
        if (node.op != &matmul_op || !reads_heads(ops::matmul::a_) || !is_plain(graph, node)) continue;
        HeadMatrix matrix = matrix_of(graph, node, false);
        matrix.head_width = o[-1], matrix.norm = -1;
        for (std::int64_t head = 0; head < o[-2]; ++head) matrix.first.push_back(head * o[-1]);
        return matrix;
    }
    throw unsupported_error("the attention of layer {} has no output projection that is a matrix", layer);
}

HeadProjections head_projections(const Graph& graph, std::int64_t layer, AttentionKind kind) {
    if (kind == AttentionKind::cross)
        throw unsupported_error("the keys and values of cross-attention are made by the encoder");
    const Node& attention = attention_of(graph, layer, kind);
    using namespace ops::attention;
    const std::int64_t heads = graph.value(attention.inputs[q_]).type.shape[-2];
    const auto behind = [&](int operand) {
        return heads_behind(graph, attention.inputs[static_cast<std::size_t>(operand)], heads);
    };
    return {.q = behind(q_), .k = behind(k_), .v = behind(v_), .o = output_projection(graph, layer, kind)};
}

}  // namespace vantage::internal
