// Splits a template into text and the tokens inside {{ }} and {% %}. White space is trimmed with transformers' settings
// (trim_blocks, lstrip_blocks) and by the template's - and +.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vantage::text::jinja {

struct Token {
    enum class Kind {
        text,
        open_output,
        close_output,
        open_block,
        close_block,
        name,
        string,
        integer,
        real,
        sign,
        end
    };
    Kind kind;
    std::string text;  ///< for a string: its value, without quotes and escapes
    int line;
};

/// `name` names the template in messages. Throws bad_file for an invalid template, unsupported for unsupported syntax.
std::vector<Token> tokens_of(std::string_view source, const std::string& name);

}  // namespace vantage::text::jinja
