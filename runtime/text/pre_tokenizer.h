// Pre-tokenizers of tokenizer.json: how a text is cut into words, inside which the model works.
#pragma once

#include <functional>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

using PreTokenizer = std::function<void(Pieces&)>;

/// Throws bad_file for a kind that is not known, with the list of those that are.
PreTokenizer make_pre_tokenizer(const JsonFields& fields);

/// Metaspace: a visible sign for the space, and whether texts get one in front. Its decoder has the same fields.
struct Metaspace {
    enum class Prepend { always, first, never };
    char32_t replacement;
    Prepend prepend;
    bool split;
};
Metaspace read_metaspace(const JsonFields& fields);

}  // namespace vantage::text
