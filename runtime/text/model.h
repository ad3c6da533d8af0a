// The model of a tokenizer: how a word becomes tokens.
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
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    struct Token {
        std::int32_t id;
        std::uint32_t begin, end;  ///< its part of the word, by byte
        bool verbatim = false;     ///< is spelled as in the word, not as in the vocabulary
    };
    /// Appends the tokens of one word of valid UTF-8. O(n log n) in its length n.
    virtual void tokenize(std::string_view word, std::vector<Token>& out) const = 0;
    const Vocabulary& vocabulary() const { return vocabulary_; }

protected:
    Model(const JsonFields& fields, Vocabulary vocabulary) : name_(fields.name()), vocabulary_(std::move(vocabulary)) {}
    /// The id of the field "unk_token". Throws bad_file when the vocabulary does not have it.
    std::int32_t id_of_unknown(const std::string& token) const;

    const std::string& name() const { return name_; }  ///< of the file

private:
    std::string name_;
    Vocabulary vocabulary_;
};

/// Looking for a token costs its length at each place of a text, so files may not choose it freely.
inline constexpr std::size_t longest_searched_token = 512;

/// The field "model" of tokenizer.json. Throws bad_file for a kind that is not known, with the list of those that are.
std::unique_ptr<const Model> make_model(const JsonFields& fields);

}  // namespace vantage::text
