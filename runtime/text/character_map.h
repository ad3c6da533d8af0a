// SentencePiece's "precompiled_charsmap": string replacements before the text is split.
#pragma once

#include "runtime/text/normalizer.h"

namespace vantage::text {

/// Throws bad_file if the map is malformed.
Normalizer make_precompiled_normalizer(const JsonFields& fields);

}  // namespace vantage::text
