// Runs a graph on the host, in double, by the references of its ops.
#pragma once

#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "runtime/graph/schedule.h"
#include "vantage/graph.h"

namespace vantage::test {

/// `inputs`: by name, of inputs, weights and states. Returns the values of `wanted`.
inline std::vector<HostTensor> evaluate(const Graph& graph, const std::map<std::string, HostTensor>& inputs,
                                        std::span<const Tensor> wanted) {
    using internal::at;
    std::vector<HostTensor> values(graph.values().size());
    std::vector<bool> known(values.size());
    const auto value_of = [&](int id) -> const HostTensor& {
        int source = id;
        while (graph.value(source).kind == ValueKind::view) source = graph.value(source).alias;
        const Value& value = graph.value(source);
        if (!at(known, source)) {
            if (value.kind == ValueKind::constant)
                at(values, source) = internal::widen(value.type, value.data());
            else if (const auto found = inputs.find(value.name); found != inputs.end())
                at(values, source) = found->second;
            else
                throw std::runtime_error("no value for " + value.name);
            at(known, source) = true;
        }
        if (source != id) {
            at(values, id) = at(values, source);
            at(values, id).type = graph.value(id).type;
        }
        return at(values, id);
    };
    for (const Node& node : graph.nodes()) {
        std::vector<HostTensor> operands;
        for (const int id : node.inputs) operands.push_back(id >= 0 ? value_of(id) : HostTensor());
        const std::vector<HostTensor> results = internal::run_reference(internal::call_of(graph, node), operands);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
            at(values, node.outputs[i]) = results[i];
            at(known, node.outputs[i]) = true;
        }
    }
    std::vector<HostTensor> results;
    for (const Tensor& tensor : wanted) results.push_back(value_of(tensor.id()));
    return results;
}

}  // namespace vantage::test
