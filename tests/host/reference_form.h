// Normalization forms by utf8proc as a whole, to compare runtime/text/unicode.cpp with.
#pragma once

#include <utf8proc.h>

#include <cstdlib>
#include <string>

#include "runtime/text/unicode.h"

namespace vantage::test {

inline std::string reference_form(const std::string& text, text::NormalForm form) {
    const bool composed = form == text::NormalForm::nfc || form == text::NormalForm::nfkc;
    const bool compatible = form == text::NormalForm::nfkc || form == text::NormalForm::nfkd;
    const int options =
        UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_uint8_t* result = nullptr;
    const utf8proc_ssize_t size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &result, static_cast<utf8proc_option_t>(options));
    std::string normal =
        size < 0 ? "(error)" : std::string(reinterpret_cast<const char*>(result), static_cast<std::size_t>(size));
    std::free(result);
    return normal;
}

}  // namespace vantage::test
