// A set of strings, laid out to find those that a text begins with in one walk along it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vantage::text {

class PrefixTree {
public:
    struct Entry {
        std::string_view text;
        std::int32_t value;  ///< not negative
    };
    PrefixTree() = default;
    /// Of two equal strings the first counts; an empty one is never found.
    explicit PrefixTree(std::vector<Entry> entries);

    /// Calls `visit(length, value)` for each string that the text begins with, the shortest first.
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
    // A node per byte of a string that no other shares: node 0 is the root, and the children of one stand together, in
    // the order of their bytes.
    struct Node {
        std::uint32_t first_child = 0;
        std::int32_t value = -1;  // of the string that ends here
        std::uint16_t children = 0;
        std::uint8_t byte = 0;
    };
    /// 0 (the root is nobody's child) when there is none.
    std::uint32_t child_of(std::uint32_t node, std::uint8_t byte) const;

    std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace vantage::text
