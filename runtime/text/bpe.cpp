// Byte-pair encoding: a word starts as its characters. The neighbouring pair with the lowest rank is merged repeatedly.
// Sennrich, Haddow and Birch 2016, https://arxiv.org/abs/1508.07909.
#include <queue>

#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"
#include "runtime/text/model.h"
#include "runtime/text/unicode.h"

namespace vantage::text {

namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

/// The two sides of a merge: "a b" in older files, ["a", "b"] in newer ones.
std::pair<std::string, std::string> sides_of(const Json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    if (!merge.is_string()) return {};
    const auto& line = merge.get_ref<const std::string&>();
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) return {};
    return {line.substr(0, space), line.substr(space + 1)};
}

class Bpe : public Model {
public:
    explicit Bpe(const JsonFields& model) : Model(model, read_vocabulary(model)) {
        if (model.optional_number("dropout", 0, 1).value_or(0) > 0)
            model.fail("dropout", "null: encoding must not be random");
        unknown_ = model.optional_text("unk_token");
        prefix_ = model.optional_text("continuing_subword_prefix").value_or("");
        suffix_ = model.optional_text("end_of_word_suffix").value_or("");
        fuse_unknown_ = model.optional_flag("fuse_unk").value_or(false);
        ignore_merges_ = model.optional_flag("ignore_merges").value_or(false);
        if (model.optional_flag("byte_fallback").value_or(false)) byte_tokens_.emplace(vocabulary());
        read_merges(model);
    }

    void tokenize(std::string_view word, std::vector<Token>& out) const override {
        if (ignore_merges_) {
            if (const std::optional<std::int32_t> id = vocabulary().id_of(word)) {
                out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
                return;
            }
        }
        std::vector<Symbol> symbols = characters_of(word);
        merge_all(symbols);
        std::uint32_t at = 0;
        for (const Symbol& symbol : symbols) {
            if (symbol.bytes > 0) out.push_back({symbol.id, at, at + symbol.bytes});
            at += symbol.bytes;
        }
    }

private:
    struct Merge {
        std::uint32_t rank;
        std::int32_t joined;
    };
    /// A symbol of the word, in a linked list. Merged symbols leave an entry with zero bytes.
    struct Symbol {
        std::int32_t id;
        std::uint32_t bytes;
        std::int32_t before, after;  // -1 at the ends
    };

    void read_merges(const JsonFields& model) {
        const Json& list = model.list("merges");
        merges_.reserve(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto complain = [&](const std::string& wanted) { model.fail_element("merges", i, wanted); };
            if (list[i].is_string() && list[i].get_ref<const std::string&>().starts_with("#version")) continue;
            const auto [left, right] = sides_of(list[i]);
            if (left.empty() || right.empty()) complain("two tokens");
            const std::optional<std::int32_t> left_id = vocabulary().id_of(left), right_id = vocabulary().id_of(right);
            if (!left_id || !right_id) complain("two tokens of the vocabulary");
            if (!right.starts_with(prefix_))
                complain("a second token that starts with the prefix " + describe(prefix_));
            const std::optional<std::int32_t> joined = vocabulary().id_of(left + right.substr(prefix_.size()));
            if (!joined)
                complain("two tokens whose joint " + describe(left + right.substr(prefix_.size())) +
                         " is in the vocabulary");
            merges_[pair_key(*left_id, *right_id)] = {static_cast<std::uint32_t>(i), *joined};
        }
    }

    const Merge* find_merge(std::int32_t left, std::int32_t right) const {
        const auto found = merges_.find(pair_key(left, right));
        return found == merges_.end() ? nullptr : &found->second;
    }

    std::vector<Symbol> characters_of(std::string_view word) const {
        std::vector<Symbol> symbols;
        symbols.reserve(word.size());
        // Bytes of a pending unknown token.
        std::optional<std::uint32_t> unknown;
        const auto write_unknown = [&] {
            if (unknown) symbols.push_back({id_of_unknown(*unknown_), *unknown, -1, -1});
            unknown.reset();
        };
        std::string decorated;
        for (std::size_t at = 0; at < word.size();) {
            const unsigned bytes = character_at(word, at).bytes;
            std::string_view text = word.substr(at, bytes);
            if (!prefix_.empty() || !suffix_.empty()) {
                decorated = (at > 0 ? prefix_ : "") + std::string(text) + (at + bytes == word.size() ? suffix_ : "");
                text = decorated;
            }
            at += bytes;
            if (const std::optional<std::int32_t> id = vocabulary().id_of(text)) {
                write_unknown();
                symbols.push_back({*id, bytes, -1, -1});
            } else if (byte_tokens_ && byte_tokens_->cover(text)) {
                // A pending unknown token is written after these bytes, as in the reference implementation.
                for (const char byte : text) symbols.push_back({byte_tokens_->id_of(byte), 1, -1, -1});
            } else if (unknown_) {
                if (unknown && !fuse_unknown_) write_unknown();
                unknown = unknown.value_or(0) + bytes;
            }
        }
        write_unknown();
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            symbols[i].before = static_cast<std::int32_t>(i) - 1;
            symbols[i].after = i + 1 < symbols.size() ? static_cast<std::int32_t>(i) + 1 : -1;
        }
        return symbols;
    }

    /// Applies the merge of lowest rank first, at equal rank the leftmost. A queue of candidates makes it O(n log n).
    /// Candidates whose neighbours have changed since are dropped when they are taken from the queue.
    void merge_all(std::vector<Symbol>& symbols) const {
        struct Candidate {
            std::uint32_t rank;
            std::int32_t at, joined;
            bool operator<(const Candidate& other) const {  // priority_queue puts the largest on top
                return rank != other.rank ? rank > other.rank : at > other.at;
            }
        };
        const auto symbol = [&](std::int32_t i) -> Symbol& { return at(symbols, i); };
        std::vector<Candidate> candidates;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
            if (const Merge* merge = find_merge(symbols[i].id, symbols[i + 1].id))
                candidates.push_back({merge->rank, static_cast<std::int32_t>(i), merge->joined});
        std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(candidates));

        const auto consider = [&](std::int32_t left, std::int32_t right) {
            if (left < 0 || right < 0) return;
            if (const Merge* merge = find_merge(symbol(left).id, symbol(right).id))
                queue.push({merge->rank, left, merge->joined});
        };
        while (!queue.empty()) {
            throw_if_interrupted();
            const Candidate top = queue.top();
            queue.pop();
            Symbol& left = symbol(top.at);
            if (left.bytes == 0 || left.after < 0) continue;
            Symbol& right = symbol(left.after);
            const Merge* merge = find_merge(left.id, right.id);
            if (merge == nullptr || merge->joined != top.joined) continue;
            left.id = top.joined;
            left.bytes += right.bytes;
            left.after = right.after;
            right.bytes = 0;
            if (left.after >= 0) symbol(left.after).before = top.at;
            consider(left.before, top.at);
            consider(top.at, left.after);
        }
    }

    std::unordered_map<std::uint64_t, Merge> merges_;  // by left id << 32 | right id
    std::optional<std::string> unknown_;
    std::string prefix_, suffix_;  // of characters inside a word, and of its last one
    bool fuse_unknown_, ignore_merges_;
    std::optional<ByteTokens> byte_tokens_;  // for unknown characters
};

}  // namespace

std::unique_ptr<const Model> make_bpe(const JsonFields& fields) { return std::make_unique<Bpe>(fields); }

}  // namespace vantage::text
