// The model of a tokenizer: turns a word into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/vocabulary.h"

namespace vantage::text {

class Model {
public:
    virtual ~Model() = default;

    struct Token {
        std::int32_t id;
        std::uint32_t begin, end;  ///< byte range in the word
        /// Spelled as in the word, not as in the vocabulary.
        bool verbatim = false;
    };
    /// Appends the tokens of a word of n bytes of valid UTF-8, in O(n log n).
    virtual void tokenize(std::string_view word, std::vector<Token>& out) const = 0;
    const Vocabulary& vocabulary() const { return vocabulary_; }

protected:
    Model(const JsonFields& fields, Vocabulary vocabulary) : name_(fields.name()), vocabulary_(std::move(vocabulary)) {}
    /// The id of the field "unk_token". Throws bad_file if the vocabulary does not contain it.
    std::int32_t id_of_unknown(const std::string& token) const;

    const std::string& name() const { return name_; }  ///< of the file

private:
    std::string name_;
    Vocabulary vocabulary_;
};

/// Searching for a token costs its length at each position of a text, so files may not have arbitrarily long ones.
inline constexpr std::size_t longest_searched_token = 512;

// The kinds of models, from the field "model" of tokenizer.json. They throw bad_file, for example for merges of unknown
// tokens.
std::unique_ptr<const Model> make_bpe(const JsonFields& fields);
std::unique_ptr<const Model> make_unigram(const JsonFields& fields);
std::unique_ptr<const Model> make_word_piece(const JsonFields& fields);
/// Reads the field "model" of tokenizer.json. Throws bad_file with the list of supported kinds for an unknown kind.
std::unique_ptr<const Model> make_model(const JsonFields& fields);

}  // namespace vantage::text
