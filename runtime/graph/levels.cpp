#include "runtime/graph/levels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace vantage::internal {

namespace {

constexpr int never = std::numeric_limits<int>::max();

using Resource = std::pair<int, std::uint64_t>;  // a buffer, or the arena and a lifetime
Resource resource_of(const MemoryUse& use) { return {use.buffer, use.buffer < 0 ? use.offset : 0}; }

// Calls `visit` with what the dispatches of a node touch, and how many of its dispatches come before.
template <class Visit>
void for_uses(std::span<const Dispatch> node, const Visit& visit) {
    for (std::size_t i = 0; i < node.size(); ++i)
        for (const MemoryUse& use : node[i].uses)
            if (use.bytes > 0) visit(use, static_cast<int>(i));
}

// The dispatches of each node, in their order.
std::vector<std::span<const Dispatch>> nodes_of(std::span<const Dispatch> dispatches) {
    std::vector<std::span<const Dispatch>> nodes;
    for (std::size_t first = 0, end = 0; first < dispatches.size(); first = end) {
        end = first + 1;
        while (end < dispatches.size() && dispatches[first].node >= 0 && dispatches[end].node == dispatches[first].node)
            ++end;
        nodes.push_back(dispatches.subspan(first, end - first));
    }
    return nodes;
}

// When a resource was written and read last, or the levels of the nodes that will write and read it first.
struct Times {
    int write, read;
};

std::vector<int> earliest(std::span<const std::span<const Dispatch>> nodes) {
    std::vector<int> levels;
    std::map<Resource, Times> last;
    int floor = 0, top = -1, segment = 0;
    for (const std::span<const Dispatch> node : nodes) {
        if (node.front().segment != std::exchange(segment, node.front().segment)) floor = top + 1;
        int level = floor;
        for_uses(node, [&](const MemoryUse& use, int) {
            const Times& then = last.try_emplace(resource_of(use), Times{-1, -1}).first->second;
            level = std::max({level, then.write + 1, use.writes ? then.read + 1 : 0});
        });
        for_uses(node, [&](const MemoryUse& use, int before) {
            Times& now = last.at(resource_of(use));
            int& mine = use.writes ? now.write : now.read;
            mine = std::max(mine, level + before);
        });
        levels.push_back(level);
        top = std::max(top, level + static_cast<int>(node.size()) - 1);
    }
    return levels;
}

bool makes_more_than_it_reads(std::span<const Dispatch> node) {
    std::uint64_t read = 0, written = 0;
    for_uses(node, [&](const MemoryUse& use, int) {
        if (use.buffer < 0) (use.writes ? written : read) += use.bytes;
    });
    return written > read;
}

// Moves nodes that make more than they read up to their first users.
void delay(std::span<const std::span<const Dispatch>> nodes, std::vector<int>& levels) {
    std::map<Resource, Times> first;
    int ceiling = never, bottom = never, segment = nodes.empty() ? 0 : nodes.back().front().segment;
    for (std::size_t i = nodes.size(); i-- > 0;) {
        const std::span<const Dispatch> node = nodes[i];
        if (node.front().segment != std::exchange(segment, node.front().segment)) ceiling = bottom;
        int end = ceiling == never ? never : ceiling - (static_cast<int>(node.size()) - 1);
        for_uses(node, [&](const MemoryUse& use, int before) {
            const Times& then = first.try_emplace(resource_of(use), Times{never, never}).first->second;
            const int user = std::min(then.write, use.writes ? then.read : never);
            if (user != never) end = std::min(end, user - before);
        });
        if (end != never && makes_more_than_it_reads(node)) levels[i] = std::max(levels[i], end - 1);
        for_uses(node, [&](const MemoryUse& use, int) {
            Times& now = first.at(resource_of(use));
            int& mine = use.writes ? now.write : now.read;
            mine = std::min(mine, levels[i]);
        });
        bottom = std::min(bottom, levels[i]);
    }
}

}  // namespace

std::vector<Level> levels_of(std::span<const Dispatch> dispatches) {
    const std::vector<std::span<const Dispatch>> nodes = nodes_of(dispatches);
    std::vector<int> levels = earliest(nodes);
    delay(nodes, levels);
    std::vector<Level> all;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (std::size_t k = 0; k < nodes[i].size(); ++k) all.push_back({levels[i], levels[i] + static_cast<int>(k)});
    return all;
}

}  // namespace vantage::internal
