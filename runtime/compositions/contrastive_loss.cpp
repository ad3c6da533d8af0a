// The contrastive loss of pairs, made of other ops.
//   s_ij = cos(a_i, b_j) / temperature;  loss = (mean_i CE(s_i·, i) + mean_j CE(s_·j, j)) / 2
// van den Oord, Li, Vinyals, "Representation Learning with Contrastive Predictive Coding" (2018), in both directions:
// Radford et al., "Learning Transferable Visual Models From Natural Language Supervision" (2021).
#include <cstring>
#include <numeric>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "vantage/graph.h"
#include "vantage/ops.h"

namespace vantage {

using namespace internal;

namespace {

// i32 [n]: 0, 1, …: row i belongs to column i.
Tensor own_columns(Graph& graph, std::int64_t n, SourceLocation where) {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<std::byte> bytes(numbers.size() * sizeof(std::int32_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return graph.constant(format("pairs {}", graph.values().size()), {n}, DType::i32, std::move(bytes), where);
}

}  // namespace

Tensor contrastive_loss(Tensor a, Tensor b, ContrastiveOptions options, SourceLocation where) {
    const Shape& shape = a.shape();
    if (shape.rank() != 2 || shape[0] < 1 || shape[1] < 1 || b.shape() != shape)
        throw Error(ErrorKind::usage,
                    format("contrastive_loss: a is {} and b is {}, but both must be [pairs, features]", shape.text(),
                           b.shape().text()));
    if (options.scale && options.scale.shape().elements() != 1)
        throw Error(ErrorKind::usage,
                    format("contrastive_loss: scale is {}, but must be one number", options.scale.shape().text()));
    if (!options.scale && !(options.temperature > 0))
        throw Error(ErrorKind::usage,
                    format("contrastive_loss: temperature is {:g}, but must be above 0", options.temperature));
    Graph graph = a.graph();
    const std::int64_t n = shape[0];
    constexpr double eps = 1e-12;  // a vector of zeros has a cosine of 0
    const double width = static_cast<double>(shape[1]);
    // x / √mean x² has the length √width
    const Tensor left = rms_norm(a, {}, eps, 0, where), right = rms_norm(b, {}, eps, 0, where);
    const double alpha = (options.scale ? 1 : 1 / options.temperature) / width;
    const Tensor targets = options.targets ? options.targets : own_columns(graph, n, where);
    const Tensor share =
        options.weights
            ? graph.reshape(options.weights, {n, 1}, where)
            : graph.constant(format("mean of pairs {}", graph.values().size()), {n, 1},
                             std::vector<float>(static_cast<std::size_t>(n), 1 / static_cast<float>(n)), where);
    const auto half = [&](Tensor rows, Tensor columns) {
        Tensor scores = matmul(rows, columns, {.transpose_b = true, .alpha = alpha}, {}, {}, where);
        if (options.scale) scores = mul(scores, options.scale, where);
        return matmul(graph.reshape(cross_entropy(scores, targets, {}, where).loss, {1, n}, where), share,
                      {.alpha = 0.5}, {}, {}, where);
    };
    return graph.reshape(add(half(left, right), half(right, left), where), {1}, where);
}

}  // namespace vantage
