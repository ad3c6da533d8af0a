// What the targets demand: a broken demand ends the process, which is how a fuzzer learns of it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "vantage/error.h"

inline void require(bool holds) {
    if (!holds) std::abort();
}

/// A message is one line, and nothing in it steers a terminal, whatever the file has in its names.
inline void require_message(const vantage::Error& error) {
    const std::string_view text = error.what();
    require(!text.empty() && std::none_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }));
}
