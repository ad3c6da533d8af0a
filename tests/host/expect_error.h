// Checks of error messages: the kind, and what the one line has to name.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <string>

#include "vantage/error.h"

namespace vantage::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Runs `action` and expects an Error of this kind, of one line, in which each of `parts` occurs.
template <class Action>
void expect_error(ErrorKind kind, std::initializer_list<const char*> parts, Action action) {
    try {
        action();
    } catch (const Error& error) {
        const std::string message = error.what();
        CAPTURE(message);
        CHECK(error.kind() == kind);
        CHECK(message.find('\n') == std::string::npos);
        for (const char* part : parts) {
            CAPTURE(part);
            CHECK(message.find(part) != std::string::npos);
        }
        return;
    }
    FAIL("nothing was thrown");
}

}  // namespace vantage::test
