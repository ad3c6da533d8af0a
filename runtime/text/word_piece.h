// WordPiece: a word is the longest token it begins with, and so on with what is left, whose tokens are written with a
// prefix (play ##ing). A word that does not work out to its end is unknown as a whole. Wu et al. 2016, section 4.1,
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
