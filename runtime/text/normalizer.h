// Normalizers of tokenizer.json: they change a text before it is split into words.
#pragma once

#include <functional>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

using Normalizer = std::function<AlignedText(AlignedText)>;

/// Throws bad_file with the list of supported kinds for an unknown kind.
Normalizer make_normalizer(const JsonFields& fields);

}  // namespace vantage::text
