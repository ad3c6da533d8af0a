// A mixture of experts made of its parts: route, sort, two grouped products with a gate between, and the weighted sum.
#include "vantage/ops.h"

namespace vantage {

Tensor mixture_of_experts(Tensor x, Routing routing, const ExpertWeights& w, const ExpertOptions& options,
                          SourceLocation where) {
    Graph g = x.graph();
    const std::int64_t n = x.shape()[0], width = x.shape()[1], top_k = routing.index.shape()[1];
    const ExpertOrder to = sort_by_expert(routing.index, w.down.shape()[0], options.capacity, where);
    const Tensor up = w.up ? expert_linear(x, w.up, to, {}, options.transposed, where) : Tensor();
    const Tensor gate = expert_linear(x, w.gate, to, w.gate_bias, options.transposed, where);
    const Tensor inner = swiglu(gate, up, options.gating, where);
    const Tensor each = expert_linear(inner, w.down, to, w.down_bias, options.transposed, where);  // [n top_k, width]
    return g.reshape(
        matmul(g.reshape(routing.weight, {n, 1, top_k}), g.reshape(each, {n, top_k, width}), {}, {}, {}, where),
        {n, width});
}

}  // namespace vantage
