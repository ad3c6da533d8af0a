// The first look at a template: text, and the tokens inside of {{ }} and {% %}. White space is trimmed as transformers
// sets it (trim_blocks, lstrip_blocks), and by the template's own - and +.
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
    std::string text;  ///< of a string its value, without quotes and escapes
    int line;
};

/// `name` stands for the template in messages. Throws bad_file for what is no template, unsupported for what is not read.
std::vector<Token> tokens_of(std::string_view source, const std::string& name);

}  // namespace vantage::text::jinja
