// Annotated syntactic relations, and how well the attention of a head predicts them.
// Clark, Khandelwal, Levy & Manning, "What Does BERT Look At?" (2019), section 4.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// A sentence of a CoNLL-U file. Words are those of the text: the parts of a multiword token ("du" = "de" + "le") are
/// one word.
struct Sentence {
    int line = 0;  ///< of its first word in the file
    std::string text;
    std::vector<std::pair<std::size_t, std::size_t>> words;  ///< begin and end in `text`, in Unicode code points
    struct Relation {
        int dependent = 0, head = 0;  ///< words
        std::string name;             ///< DEPREL: "nsubj"
    };
    std::vector<Relation> relations;  ///< without roots and without relations inside a word
};

/// Reads CoNLL-U (https://universaldependencies.org/format.html): lines of ten columns separated by tabs, of which ID,
/// FORM, HEAD, DEPREL and of MISC SpaceAfter=No are used; an empty line after each sentence; comments with #. Throws
/// bad_file with `name` and the line: other numbers of columns, IDs that do not count from 1, a HEAD that is no word of
/// the sentence, an empty FORM or DEPREL, text that is not UTF-8, and a file without relations.
std::vector<Sentence> parse_conllu(std::string_view text, const std::string& name);

/// The tokens of each word, by the tokens' places in the text: those that overlap it. A word may have none.
std::vector<std::vector<int>> tokens_of_words(const Sentence& sentence,
                                              std::span<const std::pair<std::size_t, std::size_t>> tokens);

/// Attention between words [words, words] from that between tokens [n, n]: to a word, the sum over its tokens; from a
/// word, the mean over its tokens. 0 for words without tokens.
std::vector<double> word_attention(std::span<const float> weights, std::size_t tokens,
                                   std::span<const std::vector<int>> words);

/// The head's guesses for the head of each word, without the word itself; −1: no attention. `to_head`: the word that it
/// attends to most. Else: the word that attends to it most.
std::vector<int> predicted_heads(std::span<const double> attention, std::size_t words, bool to_head);

/// Correct predictions of one relation, or of several together.
struct RelationScore {
    int count = 0;
    /// Of a word that attends to its head, and of one that is attended to by it.
    std::vector<int> to_head, from_head;
    std::map<int, int> offsets;  ///< head − dependent, in words, with its number

    /// The offset that is right most often, of equal ones the shortest, and its number.
    std::pair<int, int> best_offset() const;
};

/// Scores by the relation's name, and of all but punctuation ("punct").
struct RelationScores {
    RelationScore all;
    std::map<std::string, RelationScore> by_name;

    /// Counts the relations of a sentence, once.
    void count(const Sentence& sentence, int heads);
    /// Adds the predictions of one of these heads.
    void add(const Sentence& sentence, int head, std::span<const double> attention);
};

}  // namespace vantage::internal
