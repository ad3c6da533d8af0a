// The components of tokenizer.json around the model: normalizers, pre-tokenizers and post-processors, and what they
// share. All readers throw bad_file; for an unknown kind with the list of supported kinds.
#pragma once

#include <functional>
#include <optional>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"
#include "vantage/tokenizer.h"

namespace vantage::text {

/// Changes a text before it is split into words.
using Normalizer = std::function<AlignedText(AlignedText)>;
Normalizer make_normalizer(const JsonFields& fields);
/// SentencePiece's "precompiled_charsmap": string replacements.
Normalizer make_precompiled_normalizer(const JsonFields& fields);

/// Splits a text into words, to which the model is applied.
using PreTokenizer = std::function<void(Pieces&)>;
PreTokenizer make_pre_tokenizer(const JsonFields& fields);

/// Metaspace: a visible symbol for the space, optionally put before a text. Its decoder has the same fields.
struct Metaspace {
    enum class Prepend { always, first, never };
    std::string replacement;
    Prepend prepend;
    bool split;
};
Metaspace read_metaspace(const JsonFields& fields);

/// Converts the encodings of one or two texts to the parts of the result, in order: adds special tokens and trims
/// offsets.
using PostProcessor =
    std::function<std::vector<Tokenizer::Encoding>(std::vector<Tokenizer::Encoding>, bool add_special)>;
PostProcessor make_post_processor(const JsonFields& fields);
/// Concatenates the parts.
Tokenizer::Encoding concatenated(const std::vector<Tokenizer::Encoding>& parts);

/// Reads and compiles the field "pattern" of a component: {"String": "▁"} or {"Regex": "\\p{N}{1,3}"}.
Finder make_finder(const JsonFields& component);
/// Reads a field that must contain exactly one character.
std::string one_character(const JsonFields& fields, std::string_view key);

// GPT-2's byte alphabet: a printable letter for each of the 256 bytes, so that any byte string is visible text.

/// Printable Latin-1 bytes map to themselves, the other 68 to U+0100 and up in order: ' ' is Ġ, '\n' is Ċ.
char32_t letter_of(std::uint8_t byte);
/// The bytes that a text of such letters represents; nothing if another character occurs.
std::optional<std::string> bytes_of_letters(std::string_view valid);

}  // namespace vantage::text
