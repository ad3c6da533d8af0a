// Unigram language model: each token has a log-probability. Of all segmentations of a word, the one with the largest
// sum is chosen. Kudo 2018, https://arxiv.org/abs/1804.10959.
#pragma once

#include "runtime/text/byte_tokens.h"
#include "runtime/text/model.h"
#include "runtime/text/prefix_tree.h"

namespace vantage::text {

class Unigram : public Model {
public:
    explicit Unigram(const JsonFields& model);
    void tokenize(std::string_view word, std::vector<Token>& out) const override;

private:
    /// The best segmentation up to a position.
    struct Path {
        double score = 0;
        std::uint32_t last_begin = 0;  // of the last token
        std::int32_t last_id = -1;     // -1: not reached yet
    };
    std::vector<Path> best_paths(std::string_view word) const;
    void append_unknown(std::string_view word, std::uint32_t begin, std::uint32_t end, std::vector<Token>& out) const;
    std::int32_t unknown_id() const;

    std::vector<double> scores_;  // by id
    double unknown_score_ = 0;
    std::optional<std::int32_t> unknown_id_;
    PrefixTree tokens_;
    std::optional<ByteTokens> byte_tokens_;  // for unknown characters
};

}  // namespace vantage::text
