#include "runtime/inspect/attention_flow.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace vantage::internal {

SquareMatrix with_residual(std::span<const double> sum_of_heads, int tokens, int heads) {
    const auto n = static_cast<std::size_t>(tokens);
    SquareMatrix mixed{tokens, std::vector<double>(sum_of_heads.begin(), sum_of_heads.end())};
    for (std::size_t i = 0; i < n; ++i) {
        const std::span<double> row = std::span(mixed.values).subspan(i * n, n);
        double sum = 1;
        for (double& weight : row) sum += weight /= heads;
        row[i] += 1;
        for (double& weight : row) weight /= sum;
    }
    return mixed;
}

SquareMatrix attention_rollout(std::span<const SquareMatrix> layers) {
    SquareMatrix product = layers.front();
    const auto n = static_cast<std::size_t>(product.size);
    for (const SquareMatrix& layer : layers.subspan(1)) {
        std::vector<double> next(n * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < n; ++k) {
                const double weight = layer.values[i * n + k];
                if (weight == 0) continue;
                for (std::size_t j = 0; j < n; ++j) next[i * n + j] += weight * product.values[k * n + j];
            }
        product.values = std::move(next);
    }
    return product;
}

namespace {

constexpr double negligible = 1e-9;  // a flow that is this small is none: capacities are floats

/// Maximum flow by blocking flows in layered graphs (Dinic 1970).
class FlowNetwork {
public:
    explicit FlowNetwork(std::size_t nodes) : edges_of_(nodes), level_(nodes), next_(nodes) {}
    void add(std::size_t from, std::size_t to, double capacity) {
        for (const auto& [node, target, room] : {std::tuple{from, to, capacity}, {to, from, 0.0}}) {
            edges_of_[node].push_back(edges_.size());
            edges_.push_back({target, room, room});
        }
    }
    double max_flow(std::size_t source, std::size_t sink) {
        for (Edge& edge : edges_) edge.room = edge.capacity;
        double flow = 0;
        while (find_levels(source, sink)) {
            std::ranges::fill(next_, 0);
            for (double pushed; (pushed = push(source, sink, 2)) > 0;) flow += pushed;  // no row has more than 1
        }
        return flow;
    }

private:
    struct Edge {
        std::size_t to;
        double capacity, room;
    };
    bool find_levels(std::size_t source, std::size_t sink) {
        std::ranges::fill(level_, -1);
        level_[source] = 0;
        std::deque<std::size_t> waiting{source};
        while (!waiting.empty() && level_[sink] < 0) {
            const std::size_t node = waiting.front();
            waiting.pop_front();
            for (const std::size_t index : edges_of_[node]) {
                const Edge& edge = edges_[index];
                if (edge.room <= negligible || level_[edge.to] >= 0) continue;
                level_[edge.to] = level_[node] + 1;
                waiting.push_back(edge.to);
            }
        }
        return level_[sink] >= 0;
    }
    double push(std::size_t node, std::size_t sink, double room) {
        if (node == sink) return room;
        for (std::size_t& i = next_[node]; i < edges_of_[node].size(); ++i) {
            const std::size_t index = edges_of_[node][i];
            Edge& edge = edges_[index];
            if (edge.room <= negligible || level_[edge.to] != level_[node] + 1) continue;
            if (const double pushed = push(edge.to, sink, std::min(room, edge.room)); pushed > 0) {
                edge.room -= pushed;
                edges_[index ^ 1].room += pushed;  // edges come in pairs, forth and back
                return pushed;
            }
        }
        return 0;
    }
    std::vector<Edge> edges_;
    std::vector<std::vector<std::size_t>> edges_of_;
    std::vector<int> level_;
    std::vector<std::size_t> next_;
};

}  // namespace

SquareMatrix attention_flow(std::span<const SquareMatrix> layers, const std::function<void(int)>& progress) {
    const auto n = static_cast<std::size_t>(layers.front().size);
    FlowNetwork network(n * (layers.size() + 1));  // node (l, i) is l n + i; layer 0 is the input
    for (std::size_t l = 0; l < layers.size(); ++l)
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (const double weight = layers[l].values[i * n + j]; weight > negligible)
                    network.add((l + 1) * n + i, l * n + j, weight);
    SquareMatrix flow{static_cast<int>(n), std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
        if (progress) progress(static_cast<int>(i));
        for (std::size_t j = 0; j < n; ++j) flow.values[i * n + j] = network.max_flow(layers.size() * n + i, j);
    }
    return flow;
}

}  // namespace vantage::internal
