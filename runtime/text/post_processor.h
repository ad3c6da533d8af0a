// Post-processors of tokenizer.json: special tokens around a text, offsets without the spaces.
#pragma once

#include <functional>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/tokenizer.h"

namespace vantage::text {

/// From the encodings of one or two texts to the parts of the result, in order.
using PostProcessor =
    std::function<std::vector<Tokenizer::Encoding>(std::vector<Tokenizer::Encoding>, bool add_special)>;

/// Throws bad_file for a kind that is not known, with the list of those that are.
PostProcessor make_post_processor(const JsonFields& fields);

/// One behind the other.
Tokenizer::Encoding concatenated(const std::vector<Tokenizer::Encoding>& parts);

}  // namespace vantage::text
