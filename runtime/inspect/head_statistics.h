// What one head does with one text, in numbers: from its attention weights, one query after the other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vantage {

/// The tokens of a text as the statistics see them.
struct TokenSequence {
    std::vector<std::int32_t> ids;
    std::vector<bool> words;  ///< the token begins a word; empty = all do
    int size() const { return static_cast<int>(ids.size()); }
    bool is_word(int i) const { return words.empty() || words[static_cast<std::size_t>(i)]; }
};
/// Which tokens begin a word, by their texts: no punctuation, and not the later pieces of a word.
std::vector<bool> words_among(std::span<const std::string> token_texts);

/// A query that reads a key; −1 where there is none.
struct Read {
    int query = -1, key = -1;
    float weight = 0;
};

/// Means are over the queries that count: those from `first_query` on, since a query that sees two or three keys only
/// looks sharp whatever it does. Masses are shares of a row's weight, 0 to 1.
struct HeadStatistics {
    int tokens = 0, first_query = 0;
    double entropy = 0;           ///< −Σ p ln p, in nats
    double relative_entropy = 0;  ///< the same divided by ln(keys that the query sees): 1 is uniform, 0 reads one key
    double largest = 0;           ///< the row's largest weight
    double first = 0, previous = 0, self = 0;  ///< mass on the first token (a sink), the one before, the query itself
    /// Mass on keys j + 1 and j for the earlier tokens j that are the same as the query, where j + 1 is neither the query
    /// nor the token before it; mean over the `repeats` queries that have such a j. 0 where there is none.
    /// (Olsson et al., "In-context Learning and Induction Heads", 2022.)
    double induction = 0, duplicate = 0;
    int repeats = 0;
    Read strongest;            ///< the largest weight of all
    Read strongest_induction;  ///< the largest on a key j + 1
    /// How far one link stands out from all else that the head reads, and that link; see telling_head.h.
    double standing_out = 0;
    Read outstanding;
};

/// Collects a head's numbers. Rows come in order, so that a long text need not be held as a whole matrix.
class HeadReader {
public:
    /// `text` has to outlive the reader.
    explicit HeadReader(const TokenSequence& text);
    /// The weights of the next query; those of keys behind it do not count. Throws usage for a row too many, or too short.
    void add(std::span<const float> row);
    /// After all rows; throws usage before.
    HeadStatistics finished() const;

private:
    static constexpr int candidates = 4;  ///< links of each query that may come to stand out
    struct FarReads {
        int query = 0;
        std::array<Read, candidates> best;  ///< the largest weight first
    };
    void add_means(int query, std::span<const float> row);
    void add_repeats(int query, std::span<const float> row);
    void add_far_reads(int query, std::span<const float> row);
    double specific(const Read& read) const;
    void find_outstanding(HeadStatistics& result) const;

    const TokenSequence& text_;
    std::vector<int> same_before_;  ///< the last earlier token that is the same, −1: none
    std::vector<double> received_;  ///< by key: the sum of its weights in the rows for which it is far
    std::vector<FarReads> far_;
    HeadStatistics sums_;
    int next_ = 0;
};

/// Of a whole matrix [tokens, tokens].
HeadStatistics head_statistics(std::span<const float> weights, const TokenSequence& text);

}  // namespace vantage
