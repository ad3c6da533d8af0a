#include "viewer/panels/map_drawing.h"

#include "params/view_draw.h"
#include "runtime/base/at.h"
#include "viewer/data/histogram.h"
#include "viewer/data/view_sources.h"

namespace vantage::view {

std::pair<ValueRange, AttentionScale> thumbnail_scale(const ViewState& state) {
    if (default_range(state.modifiers) != ValueRange{}) return {{}, default_scale({})};
    return {state.range, state.scale};
}

void draw_map(const Ui& ui, const MapDrawing& drawing) {
    if (drawing.map == 0) return;
    params::ViewAreaParams p{};
    p.map = address_words(drawing.map);
    const bool difference = drawing.minus != 0;
    p.minus = address_words(drawing.minus);
    p.colours = address_words(ui.surface.colours.address() + (difference ? sizeof(std::uint32_t) * 256 : 0));
    p.left = drawing.box.x;
    p.top = drawing.box.y;
    p.pixels_wide = drawing.box.wide;
    p.pixels_high = drawing.box.high;
    p.first_row = static_cast<float>(drawing.part.first_row);
    p.first_column = static_cast<float>(drawing.part.first_column);
    p.rows = static_cast<float>(drawing.part.rows());
    p.columns = static_cast<float>(drawing.part.columns());
    p.bar = scale_params(ui.state.scale, difference ? ValueRange{0, ui.state.difference_max} : ui.state.range);
    if (drawing.mini_map >= 0 && !difference) {
        const auto [range, scale] = thumbnail_scale(ui.state);
        p.bar = scale_params(scale, range);
    }
    p.peak = ui.state.pooling == CellPooling::peak ? 1 : 0;
    p.mini_map = u32(drawing.mini_map + 1);
    p.hide_future = drawing.hide_future ? 1 : 0;
    p.unknown = ui.palette.unknown;
    ui.surface.drawings.add([p](Painter& painter) mutable {
        p.width = painter.width();
        p.height = painter.height();
        painter.draw(Shading::map, p, 6);
    });
}

}  // namespace vantage::view
