#include "runtime/train/head_loss.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/interrupt.h"
#include "runtime/graph/graph_data.h"
#include "vantage/gradient.h"

namespace vantage::internal {

namespace {

// Rows first … first + count - 1 of x [n, width], as a copy.
Tensor rows_of(Graph& graph, Tensor x, std::int64_t first, std::int64_t count) {
    const std::int64_t width = x.shape()[-1];
    const Tensor flat = graph.reshape(x, {1, x.shape().elements()});
    return graph.reshape(columns(flat, first * width, count * width), {count, width});
}

Tensor piece_loss(Graph& graph, const HeadLoss& head, Tensor x, std::int64_t first) {
    const Tensor logits = head.logits(x);
    const std::int64_t rows = logits.shape().elements() / logits.shape()[-1];
    CrossEntropyOptions options = head.options;
    options.first_target = first;
    const Tensor each = cross_entropy(graph.reshape(logits, {rows, logits.shape()[-1]}), head.targets, options).loss;
    const Tensor weights = columns(graph.reshape(head.weights, {1, head.weights.shape()[0]}), first, rows);
    return graph.reshape(matmul(graph.reshape(each, {1, rows}), graph.reshape(weights, {rows, 1})), {1});
}

}  // namespace

// In pairs, and so on, so that each row is copied log2(parts) times.
Tensor joined(std::vector<Tensor> parts) {
    while (parts.size() > 1) {
        std::vector<Tensor> pairs;
        for (std::size_t i = 0; i + 1 < parts.size(); i += 2) pairs.push_back(concat(parts[i], parts[i + 1], 0));
        if (parts.size() % 2 == 1) pairs.push_back(parts.back());
        parts = std::move(pairs);
    }
    return parts.front();
}

Tensor head_loss(Graph& graph, const HeadLoss& head) { return piece_loss(graph, head, head.x, 0); }

Tensor head_loss_in_pieces(Graph& graph, const HeadLoss& head, std::int64_t rows, bool differentiate) {
    const Tensor x = stop_gradient(head.x);  // what comes before is differentiated once, not with each piece
    const std::int64_t all = head.x.shape()[0];
    Tensor sum;
    std::vector<Tensor> dx, weights, dweights;
    for (std::int64_t first = 0; first < all; first += rows) {
        throw_if_interrupted();
        graph.segment("head." + std::to_string(first / rows));
        const Tensor piece = rows_of(graph, x, first, std::min(rows, all - first));
        const Tensor loss = piece_loss(graph, head, piece, first);
        sum = sum ? add(sum, loss) : loss;
        if (!differentiate) continue;
        if (weights.empty()) weights = head.weights_to_learn();
        std::vector<Tensor> of{piece};
        of.insert(of.end(), weights.begin(), weights.end());
        const std::vector<Tensor> made = gradients(loss, of);
        dx.push_back(made[0]);
        dweights.resize(weights.size());
        for (std::size_t i = 0; i < weights.size(); ++i)
            if (made[i + 1]) dweights[i] = dweights[i] ? add(dweights[i], made[i + 1]) : made[i + 1];
    }
    graph.segment("backward");
    if (!differentiate) return sum;
    std::vector<GivenGradient> given{{head.x, joined(std::move(dx))}};
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (dweights[i]) given.push_back({weights[i], dweights[i]});
    return given_gradients(sum, given);
}

}  // namespace vantage::internal
