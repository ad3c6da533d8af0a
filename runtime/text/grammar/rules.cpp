#include "runtime/text/grammar/rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "runtime/base/errors.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr char32_t before_surrogates = first_surrogate - 1, behind_surrogates = last_surrogate + 1;
constexpr std::size_t most_nodes = 1u << 18, most_pieces = 1u << 20;

}  // namespace

CharRanges normalised(CharRanges ranges) {
    CharRanges split;
    for (const CharRange& range : ranges) {
        const char32_t last = std::min(range.last, last_code_point);
        if (range.first <= std::min(last, before_surrogates))
            split.push_back({range.first, std::min(last, before_surrogates)});
        if (std::max(range.first, behind_surrogates) <= last)
            split.push_back({std::max(range.first, behind_surrogates), last});
    }
    std::ranges::sort(split, {}, &CharRange::first);
    CharRanges merged;
    for (const CharRange& range : split) {
        if (!merged.empty() && range.first <= merged.back().last + 1)
            merged.back().last = std::max(merged.back().last, range.last);
        else
            merged.push_back(range);
    }
    return merged;
}

CharRanges complement(const CharRanges& ranges) {
    CharRanges others;
    char32_t next = 0;
    for (const CharRange& range : ranges) {
        if (range.first > next) others.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= last_code_point) others.push_back({next, last_code_point});
    return normalised(std::move(others));
}

CharRanges intersection(const CharRanges& a, const CharRanges& b) {
    CharRanges both;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const CharRange common{std::max(a[i].first, b[j].first), std::min(a[i].last, b[j].last)};
        if (common.first <= common.last) both.push_back(common);
        a[i].last < b[j].last ? ++i : ++j;
    }
    return both;
}

std::string special_token_bytes(std::int32_t id) {
    const auto bits = static_cast<std::uint32_t>(id);
    std::string bytes = "\xFF";
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFFu);
    return bytes;
}

// ---- the builder -----------------------------------------------------------------------------------------------------

Part RuleBuilder::add(Piece piece) {
    if (pieces_.size() >= most_pieces) throw usage_error("grammar: it is too large");
    pieces_.push_back(std::move(piece));
    return static_cast<Part>(pieces_.size() - 1);
}
Part RuleBuilder::text(std::string_view text) { return add({.kind = Piece::Kind::text, .bytes = std::string(text)}); }
Part RuleBuilder::one_of(CharRanges ranges) {
    return add({.kind = Piece::Kind::chars, .ranges = normalised(std::move(ranges))});
}
Part RuleBuilder::sequence(std::vector<Part> parts) {
    return add({.kind = Piece::Kind::sequence, .parts = std::move(parts)});
}
Part RuleBuilder::choice(std::vector<Part> parts) {
    return add({.kind = Piece::Kind::choice, .parts = std::move(parts)});
}
Part RuleBuilder::repeat(Part part, std::int64_t least, std::optional<std::int64_t> most) {
    if (least < 0 || (most && *most < least))
        throw usage_error("grammar: a repetition of at least {} and at most {} times", least, most.value_or(0));
    return add({.kind = Piece::Kind::repeat, .parts = {part}, .least = least, .most = most});
}

Part RuleBuilder::embedded(std::shared_ptr<const Network> other) {
    return add({.kind = Piece::Kind::network, .network = std::move(other)});
}

Rule RuleBuilder::declare(std::string name) {
    rules_.push_back({.name = std::move(name)});
    return static_cast<Rule>(rules_.size() - 1);
}
void RuleBuilder::define(Rule rule, Part part) { rules_[rule].part = part; }
bool RuleBuilder::is_defined(Rule rule) const { return rules_[rule].part.has_value(); }
Part RuleBuilder::use(Rule rule) { return add({.kind = Piece::Kind::rule, .rule_used = rule}); }

// ---- the network -----------------------------------------------------------------------------------------------------

// Every part is laid out backwards: from the node that follows it to the node that it begins with.
class NetworkMaker {
public:
    explicit NetworkMaker(const RuleBuilder& builder) : builder_(builder) {}

    Network make(Rule root) {
        network_.start = first_of(root);
        for (std::size_t i = 0; i < wanted_.size(); ++i) {  // grows meanwhile
            const Rule rule = wanted_[i];
            const RuleBuilder::NamedRule& named = builder_.rules_[rule];
            if (!named.part) throw usage_error("grammar: the rule \"{}\" is not defined", named.name);
            const std::uint32_t begin = lay_out(*named.part, add({.kind = Network::Node::end}));
            network_.nodes[firsts_.at(rule)].to = {begin};
        }
        keep_what_ends();
        refuse_left_recursion();
        return std::move(network_);
    }

private:
    using Node = Network::Node;

    std::uint32_t add(Node node) {
        if (network_.nodes.size() >= most_nodes) throw usage_error("grammar: it has more than {} states", most_nodes);
        network_.nodes.push_back(std::move(node));
        return static_cast<std::uint32_t>(network_.nodes.size() - 1);
    }
    std::uint32_t ways(std::vector<std::uint32_t> to) { return add({.kind = Node::ways, .to = std::move(to)}); }

    // The first node of a rule, which will be laid out.
    std::uint32_t first_of(Rule rule) {
        if (const auto known = firsts_.find(rule); known != firsts_.end()) return known->second;
        wanted_.push_back(rule);
        return firsts_[rule] = ways({});
    }

    // Parts of no nodes count, too: an empty one may be written a hundred thousand times, and be repeated.
    std::uint32_t lay_out(Part part, std::uint32_t next) {
        if (++laid_out_ > most_pieces) throw usage_error("grammar: it is too large");
        const RuleBuilder::Piece& piece = builder_.pieces_[part];
        switch (piece.kind) {
            case RuleBuilder::Piece::Kind::text: return lay_out_text(piece.bytes, next);
            case RuleBuilder::Piece::Kind::chars: return lay_out_characters(piece.ranges, next);
            case RuleBuilder::Piece::Kind::sequence:
                for (auto one = piece.parts.rbegin(); one != piece.parts.rend(); ++one) next = lay_out(*one, next);
                return next;
            case RuleBuilder::Piece::Kind::choice: {
                std::vector<std::uint32_t> to;
                for (const Part one : piece.parts) to.push_back(lay_out(one, next));
                return to.size() == 1 ? to.front() : ways(std::move(to));
            }
            case RuleBuilder::Piece::Kind::repeat: return lay_out_repeat(piece, next);
            case RuleBuilder::Piece::Kind::rule:
                return add({.kind = Node::call, .rule = first_of(piece.rule_used), .after = next});
            case RuleBuilder::Piece::Kind::network:
                return add({.kind = Node::call, .rule = first_of(*piece.network), .after = next});
        }
        return next;
    }

    // The first node of another network, whose nodes are copied once.
    std::uint32_t first_of(const Network& other) {
        if (const auto known = embedded_.find(&other); known != embedded_.end()) return known->second;
        const auto moved = static_cast<std::uint32_t>(network_.nodes.size());
        for (Node node : other.nodes) {
            for (Network::ByteRange& range : node.ranges) range.to += moved;
            for (std::uint32_t& to : node.to) to += moved;
            node.rule += moved, node.after += moved;  // of calls
            add(std::move(node));
        }
        return embedded_[&other] = moved + other.start;
    }

    std::uint32_t lay_out_text(std::string_view text, std::uint32_t next) {
        for (auto byte = text.rbegin(); byte != text.rend(); ++byte) {
            const auto code = static_cast<std::uint8_t>(*byte);
            next = add({.kind = Node::bytes, .ranges = {{code, code, next}}});
        }
        return next;
    }

    // Without an end: a loop, in which `around` stands for what comes after each time. With one: copies, each of which
    // may be the last.
    std::uint32_t lay_out_repeat(const RuleBuilder::Piece& piece, std::uint32_t next) {
        const Part part = piece.parts.front();
        std::uint32_t begin = next;
        if (!piece.most) {
            const std::uint32_t around = ways({next});
            const std::uint32_t once = lay_out(part, around);
            network_.nodes[around].to.insert(network_.nodes[around].to.begin(), once);
            begin = around;
        } else {
            for (std::int64_t i = piece.least; i < *piece.most; ++i) begin = ways({lay_out(part, begin), next});
        }
        for (std::int64_t i = 0; i < piece.least; ++i) {
            const std::uint32_t once = lay_out(part, begin);
            if (once == begin) break;  // an empty part adds nothing, however often
            begin = once;
        }
        return begin;
    }

    // UTF-8: the ranges of code points whose bytes are ranges, too, as trees with the last bytes shared.
    std::uint32_t lay_out_characters(const CharRanges& ranges, std::uint32_t next) {
        std::vector<Network::ByteRange> first;
        tails_.clear();
        for (const CharRange& range : ranges) add_characters(range.first, range.last, next, first);
        return add({.kind = Node::bytes, .ranges = std::move(first)});
    }

    void add_characters(char32_t first, char32_t last, std::uint32_t next, std::vector<Network::ByteRange>& to) {
        constexpr std::array<char32_t, 4> largest{0x7F, 0x7FF, 0xFFFF, last_code_point};
        for (std::size_t more = 0; more < largest.size(); ++more) {
            if (first > largest[more]) continue;
            add_of_length(first, std::min(last, largest[more]), more, lead_of[more], next, to);
            if (last <= largest[more]) return;
            first = largest[more] + 1;
        }
    }

    // Characters of `more` bytes behind the first one, which begins with the bits `lead`.
    void add_of_length(char32_t first, char32_t last, std::size_t more, char32_t lead, std::uint32_t next,
                       std::vector<Network::ByteRange>& to) {
        const auto byte = [&](char32_t code) { return static_cast<std::uint8_t>(lead | (code >> (6 * more))); };
        if (more == 0) {
            to.push_back({byte(first), byte(last), next});
            return;
        }
        const char32_t rest = (char32_t{1} << (6 * more)) - 1;
        while (first <= last) {
            // as many first bytes at once as are followed by all rests
            const char32_t whole = (first & rest) == 0 ? (last + 1) & ~rest : 0;
            const char32_t end = whole > first ? whole - 1 : std::min<char32_t>(last, first | rest);
            const std::uint32_t tail = tail_of(first & rest, end & rest, more - 1, next);
            to.push_back({byte(first), byte(end), tail});
            first = end + 1;
        }
    }

    std::uint32_t tail_of(char32_t first, char32_t last, std::size_t more, std::uint32_t next) {
        const std::array<std::uint32_t, 4> key{first, last, static_cast<std::uint32_t>(more), next};
        if (const auto known = tails_.find(key); known != tails_.end()) return known->second;
        std::vector<Network::ByteRange> ranges;
        add_of_length(first, last, more, continuation, next, ranges);
        return tails_[key] = add({.kind = Node::bytes, .ranges = std::move(ranges)});
    }

    // By node: whether `holds` for it, which looks at the nodes behind it. From the ends backwards, so that each node is
    // looked at as often as something behind it has changed.
    template <class Holds>
    std::vector<bool> backwards(Holds holds) const {
        const std::vector<Node>& nodes = network_.nodes;
        std::vector<std::vector<std::uint32_t>> before(nodes.size());
        for (std::uint32_t i = 0; i < nodes.size(); ++i) {
            for (const Network::ByteRange& range : nodes[i].ranges) before[range.to].push_back(i);
            for (const std::uint32_t to : nodes[i].to) before[to].push_back(i);
            if (nodes[i].kind != Node::call) continue;
            before[nodes[i].rule].push_back(i);
            before[nodes[i].after].push_back(i);
        }
        std::vector<bool> known(nodes.size());
        std::vector<std::uint32_t> pending(nodes.size());
        std::iota(pending.begin(), pending.end(), 0u);
        while (!pending.empty()) {
            const std::uint32_t i = pending.back();
            pending.pop_back();
            if (known[i] || !holds(nodes[i], known)) continue;
            known[i] = true;
            pending.insert(pending.end(), before[i].begin(), before[i].end());
        }
        return known;
    }

    // Removes what no text gets through, such as a choice of nothing: then whatever text goes on can also be ended.
    void keep_what_ends() {
        const std::vector<bool> ends = backwards([](const Node& node, const std::vector<bool>& known) {
            const auto through = [&](std::uint32_t to) { return known[to]; };
            return node.kind == Node::end || std::ranges::any_of(node.to, through) ||
                   std::ranges::any_of(node.ranges, through, &Network::ByteRange::to) ||
                   (node.kind == Node::call && known[node.rule] && known[node.after]);
        });
        if (!ends[network_.start]) throw usage_error("grammar: no text fits it");
        for (Node& node : network_.nodes) {
            std::erase_if(node.ranges, [&](const Network::ByteRange& range) { return !ends[range.to]; });
            std::erase_if(node.to, [&](std::uint32_t to) { return !ends[to]; });
            if (node.kind == Node::call && !(ends[node.rule] && ends[node.after])) node = {.kind = Node::ways};
        }
    }

    // By node: whether the end of its rule can be reached without a byte.
    std::vector<bool> empty_to_the_end() const {
        return backwards([](const Node& node, const std::vector<bool>& known) {
            return node.kind == Node::end ||
                   std::ranges::any_of(node.to, [&](std::uint32_t to) { return known[to]; }) ||
                   (node.kind == Node::call && known[node.rule] && known[node.after]);
        });
    }

    // The rules that a rule may call before it takes a byte, by their first nodes.
    std::set<std::uint32_t> called_first(std::uint32_t first, const std::vector<bool>& empty) const {
        std::set<std::uint32_t> seen{first}, called;
        std::vector<std::uint32_t> pending{first};
        const auto visit = [&](std::uint32_t to) {
            if (seen.insert(to).second) pending.push_back(to);
        };
        while (!pending.empty()) {
            const Node& node = network_.nodes[pending.back()];
            pending.pop_back();
            for (const std::uint32_t to : node.to) visit(to);
            if (node.kind != Node::call) continue;
            called.insert(node.rule);
            if (empty[node.rule]) visit(node.after);
        }
        return called;
    }

    // Such a rule would be called without end. Takes away the rules that call no others first, until none is left.
    void refuse_left_recursion() const {
        const std::vector<bool> empty = empty_to_the_end();
        std::map<std::uint32_t, std::set<std::uint32_t>> calls;
        std::map<std::uint32_t, std::vector<std::uint32_t>> callers;
        std::vector<std::uint32_t> pending;
        for (const auto& [other, first] : embedded_) pending.push_back(first);  // which calls nothing of this network
        for (const auto& [rule, first] : firsts_) {
            calls[first] = called_first(first, empty);
            for (const std::uint32_t called : calls[first]) callers[called].push_back(first);
            if (calls[first].empty()) pending.push_back(first);
        }
        while (!pending.empty()) {
            const std::uint32_t done = pending.back();
            pending.pop_back();
            for (const std::uint32_t caller : callers[done])
                if (calls[caller].erase(done) > 0 && calls[caller].empty()) pending.push_back(caller);
            calls.erase(done);
        }
        if (calls.empty()) return;
        std::set<std::uint32_t> path;
        std::uint32_t at = calls.begin()->first;
        while (path.insert(at).second) at = *calls[at].begin();  // of those left, each calls another
        const auto named = std::ranges::find(firsts_, at, [](const auto& entry) { return entry.second; });
        throw usage_error("grammar: the rule \"{}\" begins with itself (left recursion)",
                          builder_.rules_[named->first].name);
    }

    static constexpr std::array<char32_t, 4> lead_of{0, 0xC0, 0xE0, 0xF0};
    static constexpr char32_t continuation = 0x80;

    const RuleBuilder& builder_;
    Network network_;
    std::size_t laid_out_ = 0;
    std::map<Rule, std::uint32_t> firsts_;
    std::map<const Network*, std::uint32_t> embedded_;
    std::vector<Rule> wanted_;
    std::map<std::array<std::uint32_t, 4>, std::uint32_t> tails_;
};

Network RuleBuilder::build(Rule root) const { return NetworkMaker(*this).make(root); }

}  // namespace vantage::text::grammar
