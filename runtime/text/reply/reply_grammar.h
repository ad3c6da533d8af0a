// The grammar of a reply: its reasoning, its text and its calls of functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/text/grammar/rules.h"
#include "runtime/text/reply/reply_format.h"
#include "vantage/grammar.h"

namespace vantage::text::reply {

struct CallableFunction {
    std::string name;
    std::shared_ptr<const grammar::Network> arguments;  ///< of JSON objects
};

struct ReplyRules {
    bool in_reasoning = false;  ///< the prompt ends within reasoning
    std::vector<CallableFunction> functions = {};
    bool must_call = false, may_call_often = true;
    std::optional<Grammar> content = {};  ///< of the text, behind the reasoning
};

/// Nothing if any text is a reply. Functions need a format whose calls are known.
std::optional<Grammar> reply_grammar(const ReplyFormat& format, const Tokenizer& tokenizer, const ReplyRules& wanted);

}  // namespace vantage::text::reply
