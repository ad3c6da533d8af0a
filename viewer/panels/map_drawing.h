// Maps between the panels' triangles: drawn by the device from where the data is.
#pragma once

#include <cstdint>
#include <utility>

#include "viewer/panels/ui.h"

namespace vantage::view {

struct MapDrawing {
    std::uint64_t map = 0;    ///< address of a ViewTileMap; 0 draws nothing
    std::uint64_t minus = 0;  ///< of another, whose cells are taken away: differences are drawn
    Box box;
    Rectangle part;              ///< of mini-maps in cells
    std::int64_t mini_map = -1;  ///< number of the head
    bool hide_future = false;    ///< of a mini-map: columns beyond the row hold nothing
};
/// Range and scale of the thumbnails: they show plain weights, whatever the map shows.
std::pair<ValueRange, AttentionScale> thumbnail_scale(const ViewState& state);
void draw_map(const Ui& ui, const MapDrawing& drawing);

}  // namespace vantage::view
