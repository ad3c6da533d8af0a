#include "runtime/train/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/op_def.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/train_step.h"

namespace vantage::internal {

namespace {

// A node with less arithmetic per byte is bound by memory on every device: reading its result costs as much as making it.
constexpr double cheap_flops_per_byte = 8;

class Recomputer {
public:
    Recomputer(Graph& graph, std::size_t first_backward, std::span<const std::string> blocks, const Recompute& what)
        : graph_(graph), first_backward_(first_backward), blocks_(blocks), what_(what), old_(graph.nodes()) {
        for (const Node& node : old_) block_of_.push_back(find_block(node));
        find_uses();
    }

    void run() {
        for (std::size_t i = 0; i < old_.size(); ++i) {
            if (moved_.contains(i)) continue;
            const int segment = i < first_backward_ ? old_[i].segment : begin_backward(i);
            emit(i < first_backward_ ? old_[i] : with_copies(old_[i]), segment);
            for (const std::size_t sum : sums_[static_cast<int>(i)]) emit(old_[sum], segment);
        }
        GraphData& data = GraphAccess::data(graph_);
        data.nodes = std::move(new_);
        for (std::size_t i = 0; i < data.nodes.size(); ++i)
            for (const int id : data.nodes[i].outputs) at(data.values, id).node = static_cast<int>(i);
    }

private:
    int find_block(const Node& node) const {
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (node.scope.starts_with(blocks_[i])) return static_cast<int>(i);
        return -1;
    }
    bool is_view(int id) const { return graph_.value(id).kind == ValueKind::view; }
    // The value that a view shows, and the node that makes a value, or -1.
    int shown(int id) const {
        while (is_view(id)) id = graph_.value(id).alias;
        return id;
    }
    int producer(int id) const {
        const Value& value = graph_.value(shown(id));
        return value.kind == ValueKind::node ? value.node : -1;
    }

    // Values that are kept: what the forward pass reads outside of its block, and states.
    void find_uses() {
        for (std::size_t i = 0; i < old_.size(); ++i) {
            for (const int id : old_[i].inputs) {
                const int maker = id < 0 ? -1 : producer(id);
                if (maker < 0) continue;
                if (i < first_backward_ && at(block_of_, maker) != at(block_of_, i)) kept_.insert(shown(id));
                if (old_[i].op == &accumulate_op && id == at(old_[i].inputs, ops::accumulate::x_))
                    sums_[maker].push_back(i), moved_.insert(i);
            }
            for (const int id : old_[i].outputs)
                if (graph_.value(id).alias >= 0) kept_.insert(id);
        }
        for (const auto& [name, id] : graph_.outputs()) kept_.insert(shown(id));
    }

    bool is_cheap(const Node& node) const {
        if (node.op->cost == nullptr) return true;
        const Cost cost = node.op->cost(call_of(graph_, node));
        return cost.flops < cheap_flops_per_byte * cost.bytes();
    }
    // Whether the backward pass recomputes a value of the forward pass.
    bool recomputes(int id) const {
        const int maker = producer(id);
        if (maker < 0 || static_cast<std::size_t>(maker) >= first_backward_ || kept_.contains(shown(id))) return false;
        const int block = at(block_of_, maker);
        return block >= 0 && (block < what_.blocks || (what_.cheap && is_cheap(at(old_, maker))));
    }

    void emit(Node node, int segment) {
        node.segment = segment;
        new_.push_back(std::move(node));
    }

    int last_segment() const { return static_cast<int>(graph_.segments().size()) - 1; }
    // The segment of a node of the backward pass.
    int begin_backward(std::size_t index) {
        const int block = at(block_of_, index);
        const auto again = [&](int id) { return id >= 0 && recomputes(id); };
        if (block >= 0 && block != in_segment_of_ && std::ranges::any_of(old_[index].inputs, again)) {
            in_segment_of_ = block;
            graph_.segment("backward." + at(blocks_, block));
        }
        return last_segment();
    }
    // The node reading copies, which are made before it.
    Node with_copies(Node node) {
        for (int& id : node.inputs)
            if (id >= 0) id = in_backward(id);
        return node;
    }

    // The value that the backward pass reads instead of one of the forward pass.
    int in_backward(int id) {
        if (!recomputes(id)) return id;
        if (const auto found = copies_.find(id); found != copies_.end()) return found->second;
        Value copy = graph_.value(id);
        if (is_view(id)) {
            copy.alias = in_backward(copy.alias);
            return copies_[id] = add(std::move(copy));
        }
        Node node = with_copies(at(old_, copy.node));
        for (int& output : node.outputs) output = copies_[output] = add(graph_.value(output));
        emit(std::move(node), last_segment());
        return copies_.at(id);
    }
    int add(Value value) { return GraphAccess::add_value(graph_, std::move(value)); }

    Graph& graph_;
    std::size_t first_backward_;
    std::span<const std::string> blocks_;
    Recompute what_;
    const std::vector<Node> old_;
    std::vector<Node> new_;
    std::vector<int> block_of_;                     // by node
    std::set<int> kept_;                            // values
    std::map<int, std::vector<std::size_t>> sums_;  // by node: those of its results, which follow it
    std::set<std::size_t> moved_;                   // these
    std::map<int, int> copies_;                     // by value of the forward pass
    int in_segment_of_ = -1;
};

}  // namespace

void recompute(Graph& graph, std::size_t first_backward, std::span<const std::string> blocks, const Recompute& what) {
    if (what == Recompute{}) return;
    Recomputer(graph, first_backward, blocks, what).run();
}

}  // namespace vantage::internal
