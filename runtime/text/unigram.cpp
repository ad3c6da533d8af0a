// Unigram language model: each token has a log-probability. Of all segmentations of a word, the one with the largest
// sum is chosen. Kudo 2018, https://arxiv.org/abs/1804.10959.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/text/model.h"
#include "runtime/text/prefix_tree.h"
#include "runtime/text/unicode.h"

namespace vantage::text {

namespace {

/// The index in the list is the id: [["<unk>", 0.0], ["▁the", -3.2], …].
Vocabulary read_pieces(const JsonFields& model) {
    const Json& list = model.list("vocab");
    if (list.empty() || list.size() > static_cast<std::size_t>(largest_token_id)) model.fail("vocab", "tokens");
    Vocabulary vocabulary;
    vocabulary.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Json& piece = list[i];
        if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number())
            model.fail_element("vocab", i, "a token and its score");
        const auto& token = piece[0].get_ref<const std::string&>();
        if (token.size() > longest_searched_token)
            model.fail_element("vocab", i, format("a token of at most {} bytes", longest_searched_token));
        vocabulary.add(token, static_cast<std::int32_t>(i));
    }
    return vocabulary;
}

class Unigram : public Model {
public:
    explicit Unigram(const JsonFields& model) : Model(model, read_pieces(model)) {
        // How much less probable an unknown character is than the rarest token.
        constexpr double penalty = 10;
        const Json& list = model.list("vocab");
        for (const Json& piece : list) scores_.push_back(piece[1].get<double>());
        unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - penalty;
        if (const auto id = model.optional_integer("unk_id", 0, static_cast<std::int64_t>(list.size()) - 1))
            unknown_id_ = static_cast<std::int32_t>(*id);
        std::vector<PrefixTree::Entry> entries;
        for (const auto& [token, id] : vocabulary().ids()) entries.push_back({token, id});
        tokens_ = PrefixTree(std::move(entries));
        if (model.optional_flag("byte_fallback").value_or(false)) byte_tokens_.emplace(vocabulary());
    }

    void tokenize(std::string_view word, std::vector<Token>& out) const override {
        const std::vector<Path> paths = best_paths(word);
        std::vector<Token> backwards;
        for (auto end = static_cast<std::uint32_t>(word.size()); end > 0;) {
            const Path& path = paths[end];
            if (unknown_id_ == path.last_id && !backwards.empty() && backwards.back().id == path.last_id)
                backwards.back().begin = path.last_begin;
            else
                backwards.push_back({path.last_id, path.last_begin, end});
            end = path.last_begin;
        }
        std::for_each(backwards.rbegin(), backwards.rend(), [&](const Token& token) {
            if (unknown_id_ == token.id)
                append_unknown(word, token.begin, token.end, out);
            else
                out.push_back(token);
        });
    }

private:
    /// The best segmentation up to a position.
    struct Path {
        double score = 0;
        std::uint32_t last_begin = 0;  // of the last token
        std::int32_t last_id = -1;     // -1: not reached yet
    };

    std::int32_t unknown_id() const {
        if (unknown_id_) return *unknown_id_;
        throw bad_file_error(
            "{}: \"model.unk_id\" is missing, wanted the token of characters that the vocabulary does not have",
            name());
    }

    /// Viterbi, left to right over the positions between characters. Of two equal sums the first one found is kept.
    std::vector<Path> best_paths(std::string_view word) const {
        std::vector<Path> paths(word.size() + 1);
        for (std::size_t at = 0; at < word.size();) {
            const double score = paths[at].score;
            const std::size_t bytes = character_at(word, at).bytes;
            const auto improves = [&](std::size_t length, double more) {
                const Path& path = paths[at + length];
                return path.last_id < 0 || score + more > path.score;
            };
            const auto take = [&](std::size_t length, double more, std::int32_t id) {
                paths[at + length] = {score + more, static_cast<std::uint32_t>(at), id};
            };
            bool character_known = false;
            tokens_.visit_prefixes(word.substr(at), [&](std::size_t length, std::int32_t id) {
                const double more = scores_[static_cast<std::size_t>(id)];
                if (improves(length, more)) take(length, more, id);
                character_known = character_known || length == bytes;
            });
            if (!character_known && improves(bytes, unknown_score_)) take(bytes, unknown_score_, unknown_id());
            at += bytes;
        }
        return paths;
    }

    /// Merges neighbouring unknown tokens into one with the word's spelling.
    void append_unknown(std::string_view word, std::uint32_t begin, std::uint32_t end, std::vector<Token>& out) const {
        const std::string_view text = word.substr(begin, end - begin);
        if (const std::optional<std::int32_t> id = vocabulary().id_of(text))
            out.push_back({*id, begin, end});
        else if (byte_tokens_ && byte_tokens_->cover(text))
            for (const char byte : text) out.push_back({byte_tokens_->id_of(byte), begin, end});
        else
            out.push_back({unknown_id(), begin, end, true});
    }

    std::vector<double> scores_;  // by id
    double unknown_score_ = 0;
    std::optional<std::int32_t> unknown_id_;
    PrefixTree tokens_;
    std::optional<ByteTokens> byte_tokens_;  // for unknown characters
};

}  // namespace

std::unique_ptr<const Model> make_unigram(const JsonFields& fields) { return std::make_unique<Unigram>(fields); }

}  // namespace vantage::text
