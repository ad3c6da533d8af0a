// What one head does with one text, in numbers: means over the rows that the device has summed up (op head_statistics).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vantage {

/// The tokens of a text as the statistics see them.
struct TokenSequence {
    std::vector<std::int32_t> ids;
    std::vector<bool> words;       ///< the token begins a word; empty = all do
    std::vector<bool> delimiters;  ///< punctuation, line ends, special tokens; empty = it is not known which
    int size() const { return static_cast<int>(ids.size()); }
    bool is_word(int i) const { return words.empty() || words[static_cast<std::size_t>(i)]; }
    bool is_delimiter(int i) const { return !delimiters.empty() && delimiters[static_cast<std::size_t>(i)]; }
    /// Bits for Session::head_statistics.
    std::vector<std::int32_t> marks() const;
};
/// Which tokens begin a word, by their texts: no punctuation, and not the later pieces of a word.
std::vector<bool> words_among(std::span<const std::string> token_texts);
/// Which tokens have neither letters nor digits: punctuation, line ends, spaces.
std::vector<bool> delimiters_among(std::span<const std::string> token_texts);

/// What heads read, and from where.
struct HeadTexts {
    TokenSequence keys;  ///< of an image: the class, then its patches row by row
    std::optional<TokenSequence> queries =
        {};               ///< of cross attention: another text; else the keys are the queries, too
    bool causal = false;  ///< no query sees a later key
    int columns = 0;      ///< of an image: patches in a row; 0: a text
    const TokenSequence& reading() const { return queries ? *queries : keys; }
    bool in_line() const { return !queries && columns == 0; }  ///< tokens come before and behind each other
    std::vector<std::int32_t> marks() const;                   ///< for Session::head_statistics
};

/// A query that reads a key; −1 where there is none.
struct Read {
    int query = -1, key = -1;
    float weight = 0;
};

/// Means are over the queries that count: of a decoder those from `first_query` on, since a query that sees two or three
/// keys only looks sharp whatever it does; of an encoder and of cross attention all. Masses are shares of a row's weight,
/// 0 to 1. What is not defined is NaN: of cross attention everything by place, of an image what is before and behind; scores
/// of repetitions in a text that repeats nothing; the mass on delimiters where it is not known which tokens are some.
struct HeadStatistics {
    int tokens = 0, first_query = 0;  ///< queries
    double entropy = 0;               ///< −Σ p ln p, in nats
    double relative_entropy = 0;  ///< the same divided by ln(keys that the query sees): 1 is uniform, 0 reads one key
    double effective = 0;         ///< exp(entropy) of each row: how many tokens it reads, as it were
    double largest = 0;           ///< the row's largest weight
    /// Σ p |i − j|, in tokens. Of an image, in patches: Σ p ‖place_i − place_j‖ / Σ p, i and j both patches.
    double distance = 0;
    double first = 0, previous = 0, self = 0, next = 0;  ///< mass on token 0, the one before, the query, the one behind
    double near = 0;                                     ///< mass on tokens, or of patches on patches, at most 3 away
    double delimiters = 0;                               ///< mass on delimiters
    double total = 0;                                    ///< mass on all keys: 1, less what a learned sink takes
    /// Mass on keys j + 1 and j for the earlier tokens j that are the same as the query, where j + 1 is neither the query
    /// nor the token before it; mean over the `repeats` queries that have such a j. 0 where there is none.
    /// (Olsson et al., "In-context Learning and Induction Heads", 2022.)
    double induction = 0, duplicate = 0;
    int repeats = 0;
    /// TransformerLens's detect_head with error_measure="mul": Σ A ∘ pattern / Σ A over all rows, for its patterns
    /// previous_token_head, duplicate_token_head and induction_head.
    double previous_score = 0, duplicate_score = 0, induction_score = 0;
    Read strongest;            ///< the largest weight of all
    Read strongest_induction;  ///< the largest on a key j + 1
    /// How far one link stands out from all else that the head reads, and that link; see salient_head.h.
    double standing_out = 0;
    Read outstanding;
    std::vector<double> received;  ///< by key: mean weight that it has from the queries that see it
    /// Of the keys behind the first that at least half of the queries see the one that receives most, −1: none.
    int argmax_received = -1;
};

/// The order of a table's rows: the largest number first, what is not defined (NaN) last. A strict weak order.
inline bool larger_first(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a > b; }

/// Numbers of all heads of a layer, from rows [queries, heads, ROW_NUMBERS] and keys [KEY_NUMBERS, heads, keys] as the op
/// head_statistics gives them. Throws usage for other sizes.
std::vector<HeadStatistics> head_statistics(std::span<const float> rows, std::span<const float> keys,
                                            const HeadTexts& texts, int heads);

}  // namespace vantage
