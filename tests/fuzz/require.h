// What the targets demand: a broken demand ends the process, which is how a fuzzer learns of it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
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

/// Runs a step, which may throw errors of these kinds. FUZZ_VERBOSE shows them.
inline void allowed(std::initializer_list<vantage::ErrorKind> kinds, const std::function<void()>& step) {
    try {
        step();
    } catch (const vantage::Error& error) {
        if (std::ranges::count(kinds, error.kind()) == 0) {
            std::fprintf(stderr, "not allowed here: %s\n", error.what());
            std::abort();
        }
        require_message(error);
        if (std::getenv("FUZZ_VERBOSE") != nullptr) std::fprintf(stderr, "%s\n", error.what());
    }
}
