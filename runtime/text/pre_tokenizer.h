// Pre-tokenizers of tokenizer.json: they split a text into words, to which the model is applied.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

using PreTokenizer = std::function<void(Pieces&)>;

/// Throws bad_file with the list of supported kinds for an unknown kind.
PreTokenizer make_pre_tokenizer(const JsonFields& fields);

/// GPT-2's words: contractions, and runs of letters, of numbers and of other characters, each with the space before it;
/// white space. Every character of a text is in one of them.
Finder gpt2_words();

/// Metaspace: a visible symbol for the space, optionally put before a text. Its decoder has the same fields.
struct Metaspace {
    enum class Prepend { always, first, never };
    std::string replacement;
    Prepend prepend;
    bool split;
};
Metaspace read_metaspace(const JsonFields& fields);

}  // namespace vantage::text
