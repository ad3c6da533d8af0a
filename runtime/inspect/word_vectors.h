// Vectors of one word in several texts: where its tokens are, and how far apart the contexts drive it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/array.h"

namespace vantage::internal {

/// The tokens [first, last) of the first whole-word occurrence of `word` in `text`, by the offsets of the text's
/// encoding (code points). Upper and lower case are told apart. Empty (first = last) where it does not occur.
std::pair<std::size_t, std::size_t> tokens_of_word(const std::string& text, const std::string& word,
                                                   std::span<const std::pair<std::size_t, std::size_t>> offsets);

/// The mean of rows [first, last) of layer `layer` of hidden states [layers, tokens, width].
std::vector<double> mean_vector(const Array& hidden, std::int64_t layer, std::size_t first, std::size_t last);
/// a·b / (‖a‖ ‖b‖), NaN for a vector of length 0.
double cosine(std::span<const double> a, std::span<const double> b);

}  // namespace vantage::internal
