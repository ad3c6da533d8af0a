// Animated PNG: pictures of one size one after the other, as browsers show them.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/png.h"

namespace vantage {

/// The bytes of a file that shows `pictures` for `seconds_each`, again and again; programs that know no animation show the first.
/// Throws usage for no picture, or pictures of different sizes. Source: https://wiki.mozilla.org/APNG_Specification
std::string encode_apng(const std::vector<Image>& pictures, double seconds_each, const PngTexts& texts = {});

}  // namespace vantage
