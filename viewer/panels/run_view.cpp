#include "viewer/panels/run_view.h"

#include <span>

namespace vantage::view {

void RunView::read(Fonts& fonts) {
    version = live.version();
    const std::uint64_t run = tokens.run;
    std::size_t known = tokens.texts.size(), source_known = tokens.source_texts.size();
    live.read_tokens(tokens);
    if (tokens.run != run) known = source_known = 0;
    for (const std::string& text : std::span(tokens.texts).subspan(known)) fonts.need(text);
    for (const std::string& text : std::span(tokens.source_texts).subspan(source_known)) fonts.need(text);
}

void RunView::update_labels(const Fonts& fonts) {
    labels.update({tokens.run, tokens.texts}, fonts);
    source_labels.update({tokens.run, tokens.source_texts}, fonts);
}

// Readings arrive one or two frames after the request.
bool RunView::waits_for_reading(const Wanted& wanted, double now) {
    constexpr double timeout = 2;  // seconds
    if (frame == nullptr) return false;
    const auto& reading = frame->reading;
    const bool there = !wanted.under_mouse || (reading && reading->head == wanted.head && reading->run == version.run &&
                                               Cell{reading->query, reading->key} == *wanted.under_mouse);
    const bool row_there = !wanted.reader || (frame->read && frame->read->first_row == *wanted.reader);
    if ((there && row_there) || wanted.under_mouse != asked_cell_) asked_at_ = now;
    asked_cell_ = wanted.under_mouse;
    return !(there && row_there) && now - asked_at_ < timeout;
}

}  // namespace vantage::view
