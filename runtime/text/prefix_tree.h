// A set of strings, laid out to find all those that a text begins with in one pass.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vantage::text {

class PrefixTree {
public:
    struct Entry {
        std::string_view text;
        std::int32_t value;  ///< at least 0
    };
    PrefixTree() = default;
    /// Of two equal strings the first counts. An empty one is never found.
    explicit PrefixTree(std::vector<Entry> entries);
    bool empty() const { return nodes_.size() == 1; }

    /// Calls `visit(length, value)` for each string that the text begins with, shortest first.
    template <class Visit>
    void visit_prefixes(std::string_view text, Visit visit) const {
        std::uint32_t node = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            node = child_of(node, static_cast<unsigned char>(text[at]));
            if (node == 0) return;
            if (nodes_[node].value >= 0) visit(at + 1, nodes_[node].value);
        }
    }

private:
    // One node per distinct prefix. Node 0 is the root. The children of a node are adjacent, ordered by their bytes.
    struct Node {
        std::uint32_t first_child = 0;
        std::int32_t value = -1;  // of the string that ends here; -1: none
        std::uint16_t children = 0;
        std::uint8_t byte = 0;
    };
    /// 0 if there is none; the root is never a child.
    std::uint32_t child_of(std::uint32_t node, std::uint8_t byte) const;

    std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace vantage::text
