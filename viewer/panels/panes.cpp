#include "viewer/panels/panes.h"

#include <algorithm>
#include <cmath>

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

std::vector<Pane> lay_panes(const ViewedRuns& runs, const ViewState& state, const Fonts& fonts, const Box& panel,
                            float scale) {
    const Face& face = fonts.small;
    const float row_label = longest_width(
        face, runs.head().kind == AttentionKind::encoder ? runs.source_labels() : runs.labels(), runs.rows());
    const float key_label =
        state.axis == KeyAxis::relative
            ? width_of(face, "00000")
            : longest_width(face, runs.head().kind == AttentionKind::self ? runs.labels() : runs.source_labels(),
                            runs.columns());
    const ShownRuns now = runs.shown();
    std::vector<Pane> panes{{.shown = now, .box = panel}};
    if (now == ShownRuns::both) {
        const float bar = focus_bar_width(panel.wide / 2, scale), half = std::floor((panel.wide - bar) / 2);
        panes.assign(2, {.shown = ShownRuns::a, .box = {panel.x, panel.y, half + bar, panel.high}, .last = false});
        panes[1].shown = ShownRuns::b, panes[1].last = true;
        panes[1].box = {panel.x + half, panel.y, panel.wide - half, panel.high};
    }
    const float title = runs.compares() ? std::round(scale * pane_title_height) : 0;
    for (Pane& pane : panes) {
        pane.box.y += title, pane.box.high -= title;
        pane.places = focus_places(pane.box, runs.part(), row_label, key_label, scale);
        pane.map = {runs.part(), pane.places.map, runs.rows(), runs.columns()};
    }
    return panes;
}

}  // namespace vantage::view
