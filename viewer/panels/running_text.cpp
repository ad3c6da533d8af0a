#include "viewer/panels/running_text.h"

#include <algorithm>
#include <cmath>

#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr int longest_label = 24;  // columns

}  // namespace

// The first token that shows how the tokenizer marks words changes earlier labels.
void TextLabels::update(const TextNow& now, const Fonts& fonts) {
    if (run_ != now.run) *this = {}, run_ = now.run;
    const bool pieces = pieces_.found();
    for (std::size_t i = labels_.size(); i < now.texts.size(); ++i) pieces_.add(now.texts[i]);
    if (pieces_.found() != pieces) labels_.clear();
    for (std::size_t i = labels_.size(); i < now.texts.size(); ++i)
        labels_.push_back(fonts.legible(shortened(token_label(now.texts[i], pieces_), longest_label)));
}

void RunningText::update(const TextNow& now, const Fonts& fonts, float scale, float wide) {
    if (const Form form{now.run, fonts.regular.size, scale, wide}; form_ != form) *this = {}, form_ = form;
    for (std::size_t i = tokens_.size(); i < now.texts.size(); ++i) place(now.texts[i], fonts);
}

void RunningText::place(const std::string& raw, const Fonts& fonts) {
    const auto px = [&](float logical) { return std::round(logical * form_.scale); };
    const float line = px(text_line), high = line - px(4);
    const bool breaks = raw.find('\n') != std::string::npos;
    std::string text = breaks ? "↵" : fonts.legible(without_controls(raw));
    if (text.empty()) text = "·";
    const std::size_t blank = std::min(text.find_first_not_of(' '), text.size() - 1);
    const float space = width_of(fonts.regular, std::string_view(text).substr(0, blank));
    text.erase(0, blank);
    const float width = std::max(width_of(fonts.regular, text), px(6));
    x_ += space;  // between words, outside of a token's box
    if (x_ + width > form_.wide && x_ > space) x_ = 0, y_ += line;
    tokens_.push_back({{x_, y_, width, high}, std::move(text)});
    x_ += width;
    if (breaks) x_ = 0, y_ += line;
}

std::pair<std::int64_t, std::int64_t> RunningText::between(float top, float bottom) const {
    const auto first = std::ranges::partition_point(tokens_, [&](const Token& t) { return t.box.bottom() < top; });
    const auto end = std::ranges::partition_point(tokens_, [&](const Token& t) { return t.box.y <= bottom; });
    return {first - tokens_.begin(), std::max(first, end) - tokens_.begin()};
}

}  // namespace vantage::view
