// Heads of full width, joined by a sum: Σ_h softmax(Q_h K_hᵀ) V_h, each V_h as wide as the model.
// It is W_O taken into the values: concat(o_h) W_O = Σ_h o_h W_O,h = Σ_h A_h (V_h W_O,h) (Elhage et al. 2021).
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "vantage/ops.h"

namespace vantage {

Tensor sum_heads(Tensor o, bool heads_first, SourceLocation where) {
    Graph g = o.graph();
    const Shape& shape = o.shape();
    const int rank = shape.rank();
    if (rank != 3 && rank != 4)
        throw Error(ErrorKind::usage, "sum_heads: o is " + o.type().text() + ", but must be [(batch,) n, heads, D]",
                    where);
    const std::int64_t batch = rank == 4 ? shape[0] : 1, n = heads_first ? shape[-2] : shape[-3],
                       heads = heads_first ? shape[-3] : shape[-2], width = shape[-1];
    const Tensor ones = g.constant(format("ones.1.{}", heads), {1, heads},
                                   [count = static_cast<std::size_t>(heads)] { return std::vector<float>(count, 1); });
    const Shape by_head = heads_first ? Shape{batch, heads, n * width} : Shape{batch * n, heads, width};
    return g.reshape(matmul(ones, g.reshape(o, by_head), {}, {}, {}, where),
                     rank == 4 ? Shape{batch, n, width} : Shape{n, width});
}

}  // namespace vantage
