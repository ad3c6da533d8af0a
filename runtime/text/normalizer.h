// Normalizers of tokenizer.json: what is done to a text before it is cut into words.
#pragma once

#include <functional>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

using Normalizer = std::function<AlignedText(AlignedText)>;

/// Throws bad_file for a kind that is not known, with the list of those that are.
Normalizer make_normalizer(const JsonFields& fields);

}  // namespace vantage::text
