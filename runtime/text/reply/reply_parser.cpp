#include "runtime/text/reply/reply_parser.h"

#include <algorithm>
#include <utility>

namespace vantage::text::reply {

namespace {

constexpr std::string_view white_space = " \t\r\n";

// How many of the last bytes of `text` may be the beginning of `mark`.
std::size_t begun(std::string_view text, std::string_view mark) {
    std::size_t length = std::min(text.size(), mark.size());
    while (text.substr(text.size() - length) != mark.substr(0, length)) --length;
    return length;
}

bool may_become(std::string_view text, std::string_view mark) {
    return text.size() < mark.size() && mark.starts_with(text);
}

std::size_t white_space_at_end(std::string_view text) {
    const std::size_t last = text.find_last_not_of(white_space);
    return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

}  // namespace

ReplyParser::ReplyParser(const ReplyFormat& format, ReplyExpectation expected)
    : format_(format),
      expected_(expected),
      state_(format.has_channels                       ? State::head
             : format.reasons && expected.in_reasoning ? State::reasoning
                                                       : State::begin),
      skips_space_(state_ == State::reasoning) {}

std::vector<ReplyPart> ReplyParser::push(std::string_view piece) {
    held_ += piece;
    while (!held_.empty() && advance()) {
    }
    return std::exchange(parts_, {});
}

std::vector<ReplyPart> ReplyParser::finish() {
    ended_ = true;
    while (!held_.empty() && advance()) {
    }
    held_.clear();
    return std::exchange(parts_, {});
}

void ReplyParser::give(ReplyPart::Kind kind, std::string text) {
    if (text.empty()) return;
    if (kind == ReplyPart::Kind::reasoning || kind == ReplyPart::Kind::content) {
        if (!parts_.empty() && parts_.back().kind == kind) {
            parts_.back().text += text;
            return;
        }
    }
    parts_.push_back({kind, std::move(text)});
}

// Whether something was taken, so that there may be more to take.
bool ReplyParser::advance() {
    if (skips_space_) {
        held_.erase(0, std::min(held_.find_first_not_of(white_space), held_.size()));
        if (held_.empty()) return false;
        skips_space_ = false;
    }
    switch (state_) {
        case State::begin: return read_begin();
        case State::reasoning: return read_reasoning();
        case State::content: return read_content();
        case State::opening: return read_opening();
        case State::name: return read_name();
        case State::arguments: return read_arguments();
        case State::closing: return read_closing();
        case State::rest: give(ReplyPart::Kind::content, std::exchange(held_, {})); return false;
        case State::head: return read_head();
        case State::part: return read_part();
    }
    return false;
}

bool ReplyParser::read_begin() {
    const std::size_t from = std::min(held_.find_first_not_of(white_space), held_.size());
    const std::string_view text = std::string_view(held_).substr(from);
    if (format_.reasons && text.starts_with(think_begin)) {
        held_.erase(0, from + think_begin.size());
        state_ = State::reasoning;
        skips_space_ = true;
        return true;
    }
    if (format_.reasons && may_become(text, think_begin) && !ended_) return false;
    state_ = State::content;
    return true;
}

// Gives what comes before a mark, but white space right before it, and takes the mark. False if it has not come yet.
bool ReplyParser::give_until(std::string_view mark, ReplyPart::Kind kind) {
    const std::size_t at = held_.find(mark);
    const bool is_there = at != std::string::npos;
    std::size_t end = is_there ? at : held_.size() - (ended_ ? 0 : begun(held_, mark));
    if (is_there || !ended_) end -= white_space_at_end(std::string_view(held_).substr(0, end));
    give(kind, held_.substr(0, end));
    opening_ = is_there ? held_.substr(end, at - end) : "";
    held_.erase(0, is_there ? at + mark.size() : end);
    return is_there;
}

bool ReplyParser::read_reasoning() {
    if (!give_until(think_end, ReplyPart::Kind::reasoning)) return false;
    state_ = State::content;
    skips_space_ = true;
    return true;
}

bool ReplyParser::read_content() {
    if (expected_.functions.empty() || !format_.calls) {
        state_ = State::rest;
        return true;
    }
    const CallSyntax& syntax = *format_.calls;
    if (syntax.is_bare()) {
        const std::size_t from = held_.find_first_not_of(" \n");  // as the grammar has it
        if (from == std::string::npos && !ended_) return false;
        const bool is_object = from != std::string::npos && held_[from] == '{';
        opening_ = is_object ? held_.substr(0, from) : "";
        held_.erase(0, opening_.size());
        state_ = is_object ? State::opening : State::rest;
        return true;
    }
    if (!give_until(syntax.mark, ReplyPart::Kind::content)) return false;
    held_.insert(0, syntax.mark);
    state_ = State::opening;
    return true;
}

bool ReplyParser::read_opening() {
    const std::string opening = format_.calls->opening();
    const std::size_t mark = format_.calls->mark.size();
    std::string text = held_;
    if (mark > 0 && text.size() > mark && text[mark] == ' ') text.erase(mark, 1);
    if (may_become(text, opening) && !ended_) return false;
    const bool opens = text.starts_with(opening);
    const std::size_t taken = opens ? held_.size() - (text.size() - opening.size()) : 0;
    opening_ += held_.substr(0, taken);
    held_.erase(0, taken);
    if (!opens) held_.insert(0, opening_);
    state_ = opens ? State::name : State::rest;
    return true;
}

// What follows is no call after all unless it is the name of a function.
bool ReplyParser::read_name() {
    bool may_come = false;
    for (const std::string& name : expected_.functions) {
        const std::string head = name + std::string(format_.calls->middle);
        may_come = may_come || may_become(held_, head);
        if (!held_.starts_with(head)) continue;
        has_calls_ = true;
        parts_.push_back({ReplyPart::Kind::call, name});
        held_.erase(0, head.size());
        state_ = State::arguments;
        depth_ = 0;
        return true;
    }
    if (may_come && !ended_) return false;
    held_.insert(0, opening_);
    state_ = State::rest;
    return true;
}

// To the brace that closes the first one.
bool ReplyParser::read_arguments() {
    std::size_t end = 0;
    while (end < held_.size() && state_ == State::arguments) {
        const char c = held_[end++];
        if (in_string_) {
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
            continue;
        }
        in_string_ = c == '"';
        if (c == '{' || c == '[') ++depth_;
        if ((c == '}' || c == ']') && --depth_ == 0) state_ = State::closing;
    }
    std::string text = held_.substr(0, end);
    held_.erase(0, end);
    if (!parts_.empty() && parts_.back().kind == ReplyPart::Kind::arguments)
        parts_.back().text += text;
    else
        parts_.push_back({ReplyPart::Kind::arguments, std::move(text)});
    return true;
}

// The end of a call, and what the next one begins with.
bool ReplyParser::read_closing() {
    const CallSyntax& syntax = *format_.calls;
    const std::string next =
        syntax.between ? std::string(syntax.close) + std::string(*syntax.between) + std::string(syntax.open) : "";
    if (!next.empty() && held_.starts_with(next)) {
        opening_ = syntax.open;
        held_.erase(0, next.size());
        state_ = State::name;
        return true;
    }
    const std::string last = std::string(syntax.close) + std::string(syntax.last);
    if (may_become(held_, next) || may_become(held_, last)) {
        if (ended_) held_.clear();  // a call that was cut short
        return false;
    }
    held_.erase(0, held_.starts_with(last) ? last.size() : held_.size());
    state_ = State::rest;
    skips_space_ = true;
    return true;
}

// ---- gpt-oss ----

// What a part is, up to its <|message|>.
bool ReplyParser::read_head() {
    constexpr std::string_view message = "<|message|>", call_to = "to=functions.";
    const auto is_head = [&](std::string_view mark) { return held_.starts_with(mark) || may_become(held_, mark); };
    const std::size_t end = held_.find(message);
    const bool is_one = is_head("<|channel|>") || is_head("<|start|>") || is_head(" to=") || is_head("assistant");
    if (!is_one || (end == std::string::npos && ended_)) {  // a model that knows no channels
        part_ = ReplyPart::Kind::content;
        state_ = State::part;
        return true;
    }
    if (end == std::string::npos) return false;
    const std::string head = held_.substr(0, end);
    held_.erase(0, end + message.size());
    const std::size_t to = head.find(call_to);
    if (!expected_.functions.empty() && to != std::string::npos) {
        const std::string name = head.substr(to + call_to.size());
        has_calls_ = true;
        parts_.push_back({ReplyPart::Kind::call, name.substr(0, name.find_first_of(" <"))});
        part_ = ReplyPart::Kind::arguments;
    } else {
        const bool is_analysis = head.find("<|channel|>analysis") != std::string::npos;
        part_ = is_analysis ? ReplyPart::Kind::reasoning : ReplyPart::Kind::content;
    }
    state_ = State::part;
    return true;
}

bool ReplyParser::read_part() {
    const std::string_view ends[] = {"<|end|>", "<|call|>", "<|start|>"};
    std::size_t at = std::string::npos, keep = 0;
    for (const std::string_view end : ends) {
        at = std::min(at, held_.find(end));
        keep = std::max(keep, begun(held_, end));
    }
    const std::size_t taken = at != std::string::npos ? at : held_.size() - (ended_ ? 0 : keep);
    give(part_, held_.substr(0, taken));
    held_.erase(0, taken);
    if (at == std::string::npos) return false;
    held_.erase(0, held_.find('>') + 1);
    state_ = State::head;
    return true;
}

}  // namespace vantage::text::reply
