#include "runtime/session/head_weights.h"

#include <algorithm>
#include <numeric>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/fuse.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/session/model_access.h"

namespace vantage::internal {

namespace {

HostTensor read_weight(const Model& model, const Graph& graph, int id) {
    const Value& weight = graph.value(graph.storage(id));
    const std::shared_ptr<Bindings>& weights = weights_of(model);
    if (weights->pending_upload) weights->pending_upload->wait();
    std::vector<std::byte> bytes(static_cast<std::size_t>(weight.type.bytes()));
    gpu::download(model.device().state(), weights->buffers.at(weight.name), 0, bytes);
    return widen(weight.type, bytes);
}

/// The width of the stream that a head's matrix reads or writes: an encoder's may be another than the decoder's.
std::int64_t width_of(const Graph& graph, const HeadMatrix& matrix) {
    const Shape shape = graph.value(graph.storage(matrix.weight)).type.shape;
    return matrix.features_first ? shape[1] : shape[0];
}

/// What a norm does before it divides: rows r of a matrix become r ∘ gain, less their mean in layer_norm.
void fold_norm(std::vector<float>& rows, const Model& model, const Graph& graph, const HeadMatrix& matrix) {
    if (matrix.norm < 0) return;
    const Node& norm = graph.nodes()[static_cast<std::size_t>(matrix.norm)];
    const bool centred = norm.op == &layer_norm_op;
    const int operand = centred ? int{ops::layer_norm::gamma_} : int{ops::rms_norm::weight_};
    const int weight = norm.inputs[static_cast<std::size_t>(operand)];
    const double offset = norm.attrs.number("weight_offset", 0);
    const std::vector<double> gain = weight < 0 ? std::vector<double>() : read_weight(model, graph, weight).data;
    const auto width = static_cast<std::size_t>(width_of(graph, matrix));
    for (std::size_t first = 0; first < rows.size(); first += width) {
        const std::span<float> row = std::span(rows).subspan(first, width);
        for (std::size_t c = 0; c < gain.size(); ++c) row[c] *= static_cast<float>(offset + gain[c]);
        const double mean = centred ? std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(width) : 0;
        for (float& value : row) value -= static_cast<float>(mean);
    }
}

}  // namespace

std::vector<float> read_features(const Model& model, const Graph& graph, const HeadMatrix& matrix) {
    const HostTensor weight = read_weight(model, graph, matrix.weight);
    const Shape shape = graph.value(graph.storage(matrix.weight)).type.shape;
    const std::int64_t rows = shape[0], columns = shape[1];
    std::vector<float> features(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            at(features, matrix.features_first ? i * columns + j : j * rows + i) =
                static_cast<float>(weight[i * columns + j]);
    return features;
}

std::vector<HeadWeights> head_weights(const Model& model, std::int64_t layer, AttentionKind kind) {
    const std::int64_t context = std::min<std::int64_t>(config_of(model).context, 16);
    Graph graph = graph_of(model, {.rows = 1, .context = context, .encoder = kind == AttentionKind::encoder});
    transpose_weights(graph);  // as the weights were loaded
    const HeadProjections found = head_projections(graph, layer, kind);
    std::vector<HeadWeights> heads(found.q.first.size());
    const auto read = [&](const HeadMatrix& matrix, std::vector<float> HeadWeights::*part) {
        std::vector<float> rows = read_features(model, graph, matrix);
        fold_norm(rows, model, graph, matrix);
        const std::int64_t width = width_of(graph, matrix);
        for (std::size_t head = 0; head < heads.size(); ++head) {
            const auto first = rows.begin() + matrix.first[head] * width;
            heads[head].width = width;
            (heads[head].*part).assign(first, first + matrix.head_width * width);
        }
    };
    read(found.q, &HeadWeights::q), read(found.k, &HeadWeights::k), read(found.v, &HeadWeights::v);
    read(found.o, &HeadWeights::o);
    return heads;
}

}  // namespace vantage::internal
