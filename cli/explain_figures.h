// What a model costs, worked out from its graphs and plans: the figures behind `vantage explain`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/graph/op.h"
#include "vantage/session.h"

namespace vantage::cli {

/// Parameters of one part of a model: embedding, positions, attention, mlp, norms, head.
struct Component {
    std::string name;
    std::uint64_t parameters = 0, bytes = 0;
};
/// In the order in which data meets them.
std::vector<Component> components(const Model& model);
/// Bytes of the weights by storage type.
std::map<std::string, std::uint64_t> weight_bytes(const Model& model);

/// Arithmetic and traffic of a run, by op, in the order in which ops come first.
struct Work {
    struct Part {
        std::string op;
        int calls = 0;
        Cost cost;
    };
    std::vector<Part> parts;
    Cost total() const;
};
/// `rows` tokens behind `position` others, in one run. The cache holds no more than these, so that costs are those of
/// the position and not of the context's size.
Work work(const Model& model, std::int64_t position, std::int64_t rows, Precision precision);

/// Bytes that the states of a session with these options would take, by the first word of their names.
std::map<std::string, std::uint64_t> state_bytes(const Model& model, std::int64_t context, Precision precision,
                                                 bool watch);

/// One dispatch of a plan.
struct DispatchLine {
    bool barrier = false;
    std::string what;  ///< "matmul attn.c_attn + residual", without the layer
    std::string kernel;
    std::string result;  ///< "f32 [1, 384]"
    std::string grid;    ///< "12 x 1 x 1", "keys/256 x 4 x 1"
    bool operator==(const DispatchLine&) const = default;
};
/// Dispatches of one layer after another that are the same but for the layer's number; outside of layers one group.
struct DispatchGroup {
    std::string name;  ///< "h.1 … h.3"
    int times = 1;
    std::vector<DispatchLine> dispatches;
};
std::vector<DispatchGroup> dispatch_groups(const Plan& plan);

}  // namespace vantage::cli
