#include "runtime/text/prefix_tree.h"

#include <algorithm>

namespace vantage::text {

/// Breadth-first: the strings below a node are a range of the sorted list, equal up to the node's depth.
PrefixTree::PrefixTree(std::vector<Entry> entries) {
    std::ranges::stable_sort(entries, {}, &Entry::text);
    const auto repeated = std::ranges::unique(entries, {}, &Entry::text);
    entries.erase(repeated.begin(), repeated.end());
    std::erase_if(entries, [](const Entry& entry) { return entry.text.empty(); });
    struct Range {
        std::size_t begin, end, depth;
    };
    std::vector<Range> below = {{0, entries.size(), 0}};  // of each node
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto [at, end, depth] = below[node];
        if (at < end && entries[at].text.size() == depth) nodes_[node].value = entries[at++].value;
        nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
        while (at < end) {
            const char byte = entries[at].text[depth];
            const std::size_t begin = at;
            while (at < end && entries[at].text[depth] == byte) ++at;
            below.push_back({begin, at, depth + 1});
            nodes_.push_back({0, -1, 0, static_cast<std::uint8_t>(byte)});
            ++nodes_[node].children;
        }
    }
}

std::uint32_t PrefixTree::child_of(std::uint32_t node, std::uint8_t byte) const {
    const auto begin = nodes_.begin() + nodes_[node].first_child, end = begin + nodes_[node].children;
    const auto found = std::ranges::lower_bound(begin, end, byte, {}, &Node::byte);
    return found != end && found->byte == byte ? static_cast<std::uint32_t>(found - nodes_.begin()) : 0;
}

}  // namespace vantage::text
