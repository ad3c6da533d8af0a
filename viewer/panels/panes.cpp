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

/// Boxes of two maps side by side. `left` is the room left of A's map for labels, which are B's, too; `bar` that right of
/// B's map for the colour bar.
std::vector<Pane> two_panes(const Box& box, float left, float bar) {
    const float half = std::floor((box.wide - bar + left) / 2);
    return {{.shown = ShownRuns::a, .box = {box.x, box.y, half + bar, box.high}, .last = false},
            {.shown = ShownRuns::b, .box = {box.x + half, box.y, box.wide - half, box.high}}};
}

/// The places of B: those of A, moved to the right. A bar below the maps begins with A's.
FocusPlaces beside(FocusPlaces places, float by, float scale) {
    constexpr float longest_bar = 420;
    if (places.bar_lies)
        places.bar.wide = std::min(places.bar.wide + by, std::round(longest_bar * scale));
    else
        places.bar.x += by;
    for (Box* box : {&places.map, &places.key_labels, &places.key_title}) box->x += by;
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
    const bool two = runs.shown() == ShownRuns::both;
    const float title = runs.compares() ? std::round(scale * pane_title_height) : 0;
    const Box box{panel.x, panel.y + title, panel.wide, panel.high - title};
    const auto lay = [&](const Rectangle& part, float more, bool bar_below) {
        const float left = row_label_width(box.wide / 2, row_label + more, scale) + std::round(24 * scale),
                    bar = bar_below ? 0 : focus_bar_width(box.wide / 2, scale);
        std::vector<Pane> panes =
            two ? two_panes(box, left, bar) : std::vector<Pane>{{.shown = runs.shown(), .box = box}};
        Pane& first = panes.front();
        first.places = focus_places(first.box, part, row_label + more, key_label + more, scale, bar_below);
        if (two) panes[1].places = beside(first.places, panes[1].box.right() - first.box.right(), scale);
        for (Pane& pane : panes) pane.map = {part, pane.places.map, runs.rows(), runs.columns()};
        return panes;
    };
    // The bar is where the maps are larger. Labels that are thinned have their positions. Both are as for the whole
    // map: a zoom moves nothing.
    const Rectangle all = whole_map(runs.rows(), runs.columns());
    const auto whole = [&](bool bar_below) { return lay(all, 0, bar_below).front().map; };
    const bool below = two && whole(true).box.wide > whole(false).box.wide;
    const bool thinned = std::min(whole(below).pixels_per_row(), whole(below).pixels_per_column()) < label_pitch(face);
    return lay(runs.part(), thinned && !runs.a().tokens.seen ? position : 0, below);
}

}  // namespace vantage::view
