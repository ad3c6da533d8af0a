// Where panels and maps are, for a target of some size.
#include <algorithm>
#include <cmath>

#include "runtime/session/model_access.h"
#include "runtime/models/config.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr float pane_title_height = 20;  // above a map of one of two runs

float longest_width(const Face& face, const std::vector<std::string>& labels, std::int64_t count) {
    // Of a long text a part tells enough, and asking for all of it would cost more than the picture.
    constexpr std::size_t max_asked = 512;
    float longest = 0;
    for (std::size_t i = 0; i < std::min({labels.size(), max_asked, static_cast<std::size_t>(count)}); ++i)
        longest = std::max(longest, width_of(face, labels[i]));
    return longest;
}

}  // namespace

/// The maps of the panel of the focused head; of two the left one has no colour bar.
void Viewer::lay_panes() {
    const Face face{fonts_.small, fonts_.small_size};
    const float row_label =
        longest_width(face, head().kind == AttentionKind::encoder ? source_labels() : labels(), rows());
    const float key_label =
        state_.axis == KeyAxis::relative
            ? width_of(face, "00000")
            : longest_width(face, head().kind == AttentionKind::self ? labels() : source_labels(), columns());
    const ShownRuns now = shown();
    const Box& all = layout_.focus;
    panes_.assign(1, {.shown = now, .box = all});
    if (now == ShownRuns::both) {
        const float bar = focus_bar_width(all.wide / 2, options_.scale), half = std::floor((all.wide - bar) / 2);
        panes_.assign(2, {.shown = ShownRuns::a, .box = {all.x, all.y, half + bar, all.high}, .last = false});
        panes_[1].shown = ShownRuns::b, panes_[1].last = true;
        panes_[1].box = {all.x + half, all.y, all.wide - half, all.high};
    }
    const float title = b_ ? std::round(options_.scale * pane_title_height) : 0;
    for (Pane& pane : panes_) {
        pane.box.y += title, pane.box.high -= title;
        pane.places = focus_places(pane.box, part(), row_label, key_label, options_.scale);
        pane.map = {part(), pane.places.map, rows(), columns()};
    }
}

/// Letters, panels and the maps' places, for a target of this size.
void Viewer::arrange(float width, float height) {
    size_ = {static_cast<int>(width), static_cast<int>(height)};
    const bool apart = head().kind == AttentionKind::cross, picture = config_of(a_.live.model()).is_vision();
    if (state_.axis == KeyAxis::relative && (apart || picture)) {
        state_.axis = KeyAxis::absolute;
        state_.part.reset();
        say(apart ? "cross-attention has no relative positions: its keys are another text"
                  : "image patches have no relative positions: they are a 2D grid");
    }
    fonts_.update();
    if (given_prompt_) at_.prompt = fonts_.in_field(*std::exchange(given_prompt_, std::nullopt));
    apply(palette_of(state_.theme), options_.scale);
    label_tokens();
    // While a prompt is edited it is seen, however small the window.
    const bool prompted = at_.focus_prompt || (at_.typing && !at_.find) || (at_.area && *at_.area >= Area::prompt);
    layout_ = lay_out(width, height, options_.scale,
                      {.heads = head_grid(a_.live),
                       .image = config_of(a_.live.model()).is_vision(),
                       .two_texts = a_.live.model().info().layers_of(AttentionKind::cross) > 0,
                       .prompt = prompted});
    lay_panes();
}

}  // namespace vantage::view
