// A reply as it comes, in parts: reasoning, text, calls of functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/reply/reply_format.h"

namespace vantage::text::reply {

struct ReplyPart {
    enum class Kind : std::uint8_t {
        reasoning,
        content,
        call,      ///< of the function of this name
        arguments  ///< of the last call: more of its JSON
    } kind = Kind::content;
    std::string text = {};
    bool operator==(const ReplyPart&) const = default;
};

/// What a parser looks for besides content.
struct ReplyExpectation {
    bool in_reasoning = false;                ///< the prompt ends within reasoning
    std::vector<std::string> functions = {};  ///< that may be called
};

/// Takes pieces of a reply, with the special tokens that are `marks` of its format. Calls must be written exactly as
/// the format says, as `reply_grammar` sees to; what looks like one and is none is content.
class ReplyParser {
public:
    ReplyParser(const ReplyFormat& format, ReplyExpectation expected);

    /// What this piece completes. The beginning of a mark, and white space that may stand before one, is held back.
    std::vector<ReplyPart> push(std::string_view piece);
    /// The reply has ended: what was held back.
    std::vector<ReplyPart> finish();
    /// Calls came, and the last one is whole.
    bool ends_with_calls() const { return has_calls_ && state_ != State::arguments && state_ != State::name; }

private:
    enum class State : std::uint8_t { begin, reasoning, content, opening, name, arguments, closing, rest, head, part };

    bool advance();
    bool read_begin();
    bool read_reasoning();
    bool read_content();
    bool read_opening();
    bool read_name();
    bool read_arguments();
    bool read_closing();
    bool read_head();
    bool read_part();
    bool give_until(std::string_view mark, ReplyPart::Kind kind);
    void give(ReplyPart::Kind kind, std::string text);

    const ReplyFormat format_;
    const ReplyExpectation expected_;
    State state_;
    std::string held_, opening_;  // what has not been taken; what was, and is content if no call follows
    std::vector<ReplyPart> parts_;
    bool skips_space_ = false, has_calls_ = false, ended_ = false;
    int depth_ = 0;  // of the arguments
    bool in_string_ = false, escaped_ = false;
    ReplyPart::Kind part_ = ReplyPart::Kind::content;  // of a channel
};

}  // namespace vantage::text::reply
