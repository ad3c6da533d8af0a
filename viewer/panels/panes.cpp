#include "viewer/panels/panes.h"

#include <algorithm>
#include <cmath>

#include "viewer/panels/panels.h"
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

/// The places of B: those of A, moved to the right. Row labels are those of A.
FocusPlaces beside(FocusPlaces places, float by) {
    for (Box* box : {&places.map, &places.key_labels, &places.key_title, &places.bar}) box->x += by;
    places.row_labels = places.row_title = {};
    return places;
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
    const float position = width_of(face, with_position("", std::max(runs.rows(), runs.columns())));
    const ShownRuns now = runs.shown();
    std::vector<Pane> panes{{.shown = now, .box = panel}};
    if (now == ShownRuns::both) {
        const float bar = focus_bar_width(panel.wide / 2, scale),
                    more = row_label_width(panel.wide / 2, row_label, scale),
                    half = std::floor((panel.wide - bar + more) / 2);
        panes.assign(2, {.shown = ShownRuns::a, .box = {panel.x, panel.y, half + bar, panel.high}, .last = false});
        panes[1].shown = ShownRuns::b, panes[1].last = true;
        panes[1].box = {panel.x + half, panel.y, panel.wide - half, panel.high};
    }
    const float title = runs.compares() ? std::round(scale * pane_title_height) : 0;
    for (Pane& pane : panes) pane.box.y += title, pane.box.high -= title;
    Pane& first = panes.front();
    const auto places = [&](const Rectangle& part, float more) {
        return focus_places(first.box, part, row_label + more, key_label + more, scale);
    };
    // Labels that are thinned have their positions. Their room is that of the whole map: a zoom moves nothing.
    const Rectangle all = whole_map(runs.rows(), runs.columns());
    const MapView whole{all, places(all, 0).map, runs.rows(), runs.columns()};
    const bool thinned = std::min(whole.pixels_per_row(), whole.pixels_per_column()) < label_pitch(face);
    first.places = places(runs.part(), thinned && !runs.a().tokens.seen ? position : 0);
    if (panes.size() > 1) panes[1].places = beside(first.places, panes[1].box.right() - first.box.right());
    for (Pane& pane : panes) pane.map = {runs.part(), pane.places.map, runs.rows(), runs.columns()};
    return panes;
}

}  // namespace vantage::view
