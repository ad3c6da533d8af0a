#include "runtime/session/text_stream.h"

#include <algorithm>
#include <utility>

#include "runtime/session/model_access.h"

namespace vantage::internal {

void begin_answer(Sequence& s, std::span<const std::int32_t> source) {
    s.set_source(source);
    append_forced_first(s);
}

void append_forced_first(Sequence& s) {
    const auto first = static_cast<std::int32_t>(config_of(s.model()).forced_first_token);
    if (first >= 0) s.append(std::span(&first, 1));
}

// Takes text in, gives out what can no longer become a stop text; the text is done at one.
std::string TextStream::release(const std::string& text) {
    held_ += text;
    std::size_t keep = 0, first = std::string::npos;
    for (const std::string& stop : options_->stop) {
        if (stop.empty()) continue;
        first = std::min(first, held_.find(stop));
        for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n)
            if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) keep = n;
    }
    if (first != std::string::npos) {
        ending_ = Ending::stop_text;
        done_ = true;
        return held_.substr(0, first);
    }
    const std::string out = held_.substr(0, held_.size() - keep);
    held_.erase(0, out.size());
    return out;
}

std::optional<Token> TextStream::end_with(Ending why) {
    ending_ = why;
    const std::string rest = release(decoder_.finish());
    const std::string last = done_ ? rest : rest + held_;  // done: it was a stop text after all
    done_ = true;
    held_.clear();
    return last.empty() ? std::nullopt : std::optional(Token{-1, last});
}

void TextStream::stop() {
    if (!std::exchange(done_, true)) ending_ = Ending::stopped;
}

std::optional<Token> TextStream::take(std::optional<std::int32_t> id, Ending why) {
    if (!id) return end_with(why);
    ++drawn_;
    if (std::ranges::count(options_->end_tokens, *id) > 0) return end_with(Ending::end_token);
    return Token{*id, release(decoder_.push(*id))};
}

}  // namespace vantage::internal
