// WordPiece: the longest token that a word begins with is split off repeatedly. Tokens after the first have a prefix
// (play ##ing). If a remainder has no token, the word is unknown. Wu et al. 2016, section 4.1,
// https://arxiv.org/abs/1609.08144.
#include <limits>

#include "runtime/text/model.h"
#include "runtime/text/prefix_tree.h"
#include "runtime/text/unicode.h"

namespace vantage::text {

namespace {

class WordPiece : public Model {
public:
    explicit WordPiece(const JsonFields& model) : Model(model, read_vocabulary(model)) {
        unknown_ = model.text("unk_token");
        longest_word_ = static_cast<std::size_t>(
            model.integer("max_input_chars_per_word", 0, std::numeric_limits<std::int32_t>::max()));
        const std::string prefix = model.text("continuing_subword_prefix");
        std::vector<PrefixTree::Entry> starts, continuations;
        for (const auto& [token, id] : vocabulary().ids()) {
            if (token.size() > longest_searched_token)
                model.object("vocab").fail(token, format("a token of at most {} bytes", longest_searched_token));
            starts.push_back({token, id});
            if (token.starts_with(prefix)) continuations.push_back({std::string_view(token).substr(prefix.size()), id});
        }
        starts_ = PrefixTree(std::move(starts));
        continuations_ = PrefixTree(std::move(continuations));
    }

    void tokenize(std::string_view word, std::vector<Token>& out) const override {
        const std::size_t before = out.size();
        bool known = code_points(word).size() <= longest_word_;
        for (std::size_t at = 0; known && at < word.size();) {
            Token longest{-1, static_cast<std::uint32_t>(at), 0};
            (at == 0 ? starts_ : continuations_)
                .visit_prefixes(word.substr(at), [&](std::size_t length, std::int32_t id) {
                    longest.id = id;
                    longest.end = static_cast<std::uint32_t>(at + length);
                });
            known = longest.id >= 0;
            if (known) out.push_back(longest);
            at = longest.end;
        }
        if (known) return;
        out.resize(before);
        out.push_back({id_of_unknown(unknown_), 0, static_cast<std::uint32_t>(word.size())});
    }

private:
    std::string unknown_;
    std::size_t longest_word_;  // in characters
    PrefixTree starts_, continuations_;
};

}  // namespace

std::unique_ptr<const Model> make_word_piece(const JsonFields& fields) { return std::make_unique<WordPiece>(fields); }

}  // namespace vantage::text
