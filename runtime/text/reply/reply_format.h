// How chat models write replies: reasoning before the answer, and calls of functions. Each family of models was trained
// on marks of its own, which its chat template has, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vantage/tokenizer.h"

namespace vantage::text::reply {

/// A call is `open`, the name of the function, `middle`, its arguments as JSON, and `close`. A list of calls has
/// `first` before it, `between` its calls, and `last` behind it.
struct CallSyntax {
    std::string_view family;
    std::string_view in_template, in_template_too;  ///< what templates of this syntax contain
    std::string_view mark;                          ///< that calls begin with: a text before them does not contain it
    std::string_view first, open, middle, close;
    std::optional<std::string_view> between;  ///< nothing: there is one call
    std::string_view last;

    /// What the first call has before its name.
    std::string opening() const { return std::string(first) + std::string(open); }
    /// A text that begins as a call does is one; there is no mark.
    bool is_bare() const { return mark.empty(); }
};

struct ReplyFormat {
    bool reasons = false;                  ///< may begin with <think>, reasoning and </think>
    std::optional<CallSyntax> calls = {};  ///< nothing: it is not known how this template's model calls functions
    bool has_channels = false;             ///< gpt-oss: each part of a reply says what it is
    std::vector<std::int32_t> marks = {};  ///< special tokens that are written in calls and around reasoning
};

inline constexpr std::string_view think_begin = "<think>", think_end = "</think>";

/// By marks in the text of a chat template.
ReplyFormat reply_format_of(std::string_view chat_template, const Tokenizer& tokenizer);
/// For templates that have no functions: the calls of Hermes and Qwen, which have to be explained to the model.
void use_explained_calls(ReplyFormat& format, const Tokenizer& tokenizer);
/// The families whose calls are known, for messages.
std::string call_families();

/// A piece of a mark: a special token, or a text.
struct MarkPiece {
    std::optional<std::int32_t> token = {};
    std::string text = {};
};
std::vector<MarkPiece> mark_pieces(std::string_view mark, const Tokenizer& tokenizer);

}  // namespace vantage::text::reply
