// WordPiece: the longest token that a word begins with is split off repeatedly. Tokens after the first have a prefix
// (play ##ing). If a remainder has no token, the word is unknown. Wu et al. 2016, section 4.1,
// https://arxiv.org/abs/1609.08144.
#pragma once

#include "runtime/text/model.h"
#include "runtime/text/prefix_tree.h"

namespace vantage::text {

class WordPiece : public Model {
public:
    explicit WordPiece(const JsonFields& model);
    void tokenize(std::string_view word, std::vector<Token>& out) const override;

private:
    std::string unknown_;
    std::size_t longest_word_;  // in characters
    PrefixTree starts_, continuations_;
};

}  // namespace vantage::text
