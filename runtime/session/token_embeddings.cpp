#include "runtime/session/token_embeddings.h"

#include <algorithm>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/transfer.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/embedding.h"
#include "runtime/session/model_access.h"

namespace vantage::internal {

std::vector<float> token_embeddings(const Model& model, std::span<const std::int32_t> ids, AttentionKind kind) {
    const bool encoder = kind == AttentionKind::encoder;
    const Graph graph = graph_of(
        model, {.rows = 1, .context = std::min<std::int64_t>(config_of(model).context, 16), .encoder = encoder});
    const char* tokens = encoder ? model_names::source_tokens : model_names::tokens;
    const auto node = std::ranges::find_if(graph.nodes(), [&](const Node& one) {
        return one.op == &embedding_op && graph.value(graph.storage(one.inputs[ops::embedding::ids_])).name == tokens;
    });
    if (node == graph.nodes().end()) return {};
    const Value& table = graph.value(graph.storage(node->inputs[ops::embedding::w_]));
    const std::int64_t width = table.type.shape[1];
    const std::shared_ptr<Bindings>& weights = weights_of(model);
    if (weights->pending_upload) weights->pending_upload->wait();
    std::vector<float> rows;
    const auto read = [&](std::uint64_t from, std::uint64_t count) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(count));
        gpu::download(model.device().state(), weights->buffers.at(table.name), from, bytes);
        return bytes;
    };
    for (const std::int32_t id : ids) {
        const HostTensor row = widen_part(table.type.dtype, id * width, width, read);
        std::ranges::transform(row.data, std::back_inserter(rows), [](double x) { return static_cast<float>(x); });
    }
    return rows;
}

}  // namespace vantage::internal
