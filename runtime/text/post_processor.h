// Post-processors of tokenizer.json: they add special tokens and trim offsets.
#pragma once

#include <functional>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/tokenizer.h"

namespace vantage::text {

/// Converts the encodings of one or two texts to the parts of the result, in order.
using PostProcessor =
    std::function<std::vector<Tokenizer::Encoding>(std::vector<Tokenizer::Encoding>, bool add_special)>;

/// Throws bad_file with the list of supported kinds for an unknown kind.
PostProcessor make_post_processor(const JsonFields& fields);

/// Concatenates the parts.
Tokenizer::Encoding concatenated(const std::vector<Tokenizer::Encoding>& parts);

}  // namespace vantage::text
