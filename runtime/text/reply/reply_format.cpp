#include "runtime/text/reply/reply_format.h"

#include <algorithm>

#include "runtime/base/format.h"

namespace vantage::text::reply {

using namespace internal;

namespace {

// The first one both of whose marks a template contains is taken.
constexpr CallSyntax call_syntaxes[] = {
    {.family = "Hermes and Qwen",
     .in_template = "<tool_call>",
     .in_template_too = "\"arguments",
     .mark = "<tool_call>",
     .first = "",
     .open = "<tool_call>\n{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}\n</tool_call>",
     .between = "\n",
     .last = ""},
    {.family = "Mistral Small 3.2 and later",
     .in_template = "[ARGS]",
     .in_template_too = "[TOOL_CALLS]",
     .mark = "[TOOL_CALLS]",
     .first = "",
     .open = "[TOOL_CALLS]",
     .middle = "[ARGS]",
     .close = "",
     .between = "",
     .last = ""},
    {.family = "Mistral",
     .in_template = "[TOOL_CALLS]",
     .in_template_too = "",
     .mark = "[TOOL_CALLS]",
     .first = "[TOOL_CALLS][",
     .open = "{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}",
     .between = ", ",
     .last = "]"},
    {.family = "Granite 3",
     .in_template = "<|tool_call|>",
     .in_template_too = "tool",
     .mark = "<|tool_call|>",
     .first = "<|tool_call|>[",
     .open = "{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}",
     .between = ", ",
     .last = "]"},
    {.family = "DeepSeek",
     .in_template = "<｜tool▁sep｜>",
     .in_template_too = "```json",
     .mark = "<｜tool▁calls▁begin｜>",
     .first = "<｜tool▁calls▁begin｜>",
     .open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
     .middle = "\n```json\n",
     .close = "\n```<｜tool▁call▁end｜>",
     .between = "\n",
     .last = "<｜tool▁calls▁end｜>"},
    {.family = "Llama 3",
     .in_template = "\"parameters\": ",
     .in_template_too = "{\"name\": ",
     .mark = "",
     .first = "",
     .open = "{\"name\": \"",
     .middle = "\", \"parameters\": ",
     .close = "}",
     .between = std::nullopt,
     .last = ""},
};

void add_marks(std::string_view text, const Tokenizer& tokenizer, std::vector<std::int32_t>& marks) {
    for (const MarkPiece& piece : mark_pieces(text, tokenizer))
        if (piece.token && std::ranges::count(marks, *piece.token) == 0) marks.push_back(*piece.token);
}

void use_calls(const CallSyntax& syntax, const Tokenizer& tokenizer, ReplyFormat& format) {
    format.calls = syntax;
    for (const std::string_view text :
         {syntax.first, syntax.open, syntax.middle, syntax.close, syntax.between.value_or(""), syntax.last})
        add_marks(text, tokenizer, format.marks);
}

}  // namespace

ReplyFormat reply_format_of(std::string_view chat_template, const Tokenizer& tokenizer) {
    const auto has = [&](std::string_view text) { return chat_template.find(text) != std::string_view::npos; };
    ReplyFormat format;
    if (has("<|channel|>")) {
        format.has_channels = true;
        for (const char* mark : {"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>", "<|call|>"})
            add_marks(mark, tokenizer, format.marks);
        return format;
    }
    format.reasons = has(think_end);
    if (format.reasons) add_marks(think_begin, tokenizer, format.marks), add_marks(think_end, tokenizer, format.marks);
    if (has("<function=") || has("<arg_key>")) return format;  // calls in XML: Qwen3-Coder's, GLM's
    const auto* known = std::ranges::find_if(call_syntaxes, [&](const CallSyntax& syntax) {
        return has(syntax.in_template) && has(syntax.in_template_too);
    });
    if (known == std::ranges::end(call_syntaxes)) return format;
    use_calls(*known, tokenizer, format);
    return format;
}

void use_explained_calls(ReplyFormat& format, const Tokenizer& tokenizer) {
    use_calls(call_syntaxes[0], tokenizer, format);
}

std::string call_families() {
    std::string all;
    for (const CallSyntax& syntax : call_syntaxes) all += std::string(syntax.family) + ", ";
    return all + "gpt-oss";
}

// Special tokens are spelled with brackets around them.
std::vector<MarkPiece> mark_pieces(std::string_view mark, const Tokenizer& tokenizer) {
    std::vector<MarkPiece> pieces;
    const auto special_at = [&](std::size_t at) -> std::optional<std::pair<std::int32_t, std::size_t>> {
        if (mark[at] != '<' && mark[at] != '[') return std::nullopt;
        const std::size_t end = mark.find(mark[at] == '<' ? '>' : ']', at);
        if (end == std::string_view::npos) return std::nullopt;
        const std::optional<int> id = tokenizer.id_of(mark.substr(at, end + 1 - at));
        if (!id || !tokenizer.is_special(*id)) return std::nullopt;
        return std::pair(*id, end + 1);
    };
    for (std::size_t at = 0; at < mark.size();) {
        if (const auto special = special_at(at)) {
            pieces.push_back({.token = special->first});
            at = special->second;
            continue;
        }
        if (pieces.empty() || pieces.back().token) pieces.emplace_back();
        pieces.back().text += mark[at++];
    }
    return pieces;
}

}  // namespace vantage::text::reply
