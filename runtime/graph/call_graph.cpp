#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

Graph graph_of_call(const OpCall& call) {
    Graph graph;
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (!call.inputs[i]) {
            operands.emplace_back();
            continue;
        }
        const TensorType& type = *call.inputs[i];
        const bool updated = std::ranges::count(call.op->alias, static_cast<std::int8_t>(i)) > 0;
        const char* name = call.op->operands[i];
        operands.push_back(updated ? graph.state(name, type.shape, type.dtype)
                                   : graph.input(name, type.shape, type.dtype));
    }
    const std::vector<Tensor> results = add_call(graph, *call.op, operands, call.attrs, call.where);
    for (std::size_t i = 0; i < results.size(); ++i) graph.output(format("result{}", i), results[i]);
    return graph;
}

}  // namespace vantage::internal
