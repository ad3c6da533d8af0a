#include "runtime/models/weight_storage.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/ggml_blocks.h"
#include "runtime/graph/graph_data.h"
#include "runtime/models/adapters.h"
#include "runtime/models/model_roles.h"
#include "runtime/ops/embedding.h"
#include "runtime/ops/expert_linear.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/recurrent.h"

namespace vantage::internal {

namespace {

bool is_matrix_use(const Graph& graph, const ModelRoles& roles, std::size_t index, std::size_t operand) {
    const Node& node = graph.nodes()[index];
    if (node.op == &recurrent_op) return operand == ops::recurrent::w_;
    if (node.op == &matmul_op)
        return operand == ops::matmul::b_ && node.attrs.flag("transpose_b") && roles.of(index) != ModelRole::router;
    if (node.op == &expert_linear_op) return operand == ops::expert_linear::w_ && node.attrs.flag("transpose_w");
    return node.op == &embedding_op && operand == ops::embedding::w_ && roles.of(index) == ModelRole::embedding;
}

// For each value: true if it is a weight that is only used as a matrix.
std::vector<bool> matrices_of(const Graph& graph, const ModelConfig& config) {
    const ModelRoles roles(graph, config);
    std::vector<bool> used(graph.values().size()), used_elsewhere(graph.values().size());
    for (std::size_t node = 0; node < graph.nodes().size(); ++node)
        for (std::size_t i = 0; i < graph.nodes()[node].inputs.size(); ++i)
            if (const int id = graph.nodes()[node].inputs[i]; id >= 0)
                at(is_matrix_use(graph, roles, node, i) ? used : used_elsewhere, id) = true;
    for (const Value& value : graph.values())
        if (value.alias >= 0) at(used_elsewhere, value.alias) = true;
    for (std::size_t id = 0; id < used.size(); ++id)
        used[id] = used[id] && !used_elsewhere[id] && graph.values()[id].kind == ValueKind::weight;
    return used;
}

bool is_recurrent(const Graph& graph, std::size_t id) {
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
        return node.op == &recurrent_op && node.inputs[ops::recurrent::w_] == static_cast<int>(id);
    });
}

// Rows must divide into blocks of 32; stacked matrices (of experts) also into groups.
bool divides(const Shape& shape, DType type) {
    const std::int64_t group = info(type).elements;
    return shape[-1] % 32 == 0 && (shape.rank() == 2 || shape[-1] * shape[-2] % group == 0);
}

// `wanted`, or llama.cpp's choice for rows that do not divide into blocks of 256.
DType type_for(const Shape& shape, DType wanted) {
    if (!is_quantized(wanted)) return wanted;
    if (shape[-1] % static_cast<std::int64_t>(block_elements(wanted)) == 0 && divides(shape, wanted)) return wanted;
    switch (wanted) {
        case DType::q4_k: return DType::q5_0;
        case DType::q5_k: return DType::q5_1;
        case DType::q6_k: return DType::q8_0;
        default: return wanted;
    }
}

}  // namespace

std::vector<std::string> store_matrices(Graph& graph, const ModelConfig& config, DType wanted) {
    const std::vector<bool> matrices = matrices_of(graph, config);
    std::vector<std::string> left;
    for (std::size_t id = 0; id < matrices.size(); ++id) {
        Value& value = mutable_values(graph)[id];
        if (!matrices[id] || value.type.dtype == wanted || is_adapter(value.name)) continue;
        const DType type = type_for(value.type.shape, wanted);
        if (is_quantized(wanted) && is_recurrent(graph, id))
            left.push_back(
                format("{} stays {}: recurrent layers take f32, f16 and bf16", value.name, value.type.text()));
        else if (!is_quantized(wanted) || divides(value.type.shape, type))
            value.type.dtype = type;
        else
            left.push_back(format("{} stays {}: {} takes rows in blocks of 32, and experts in groups of {} elements",
                                  value.name, value.type.text(), vantage::name_of(wanted), info(type).elements));
    }
    return left;
}

}  // namespace vantage::internal
