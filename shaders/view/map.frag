// A head's weights as colours: pixel -> token -> cell of the pyramid -> scale -> one of 256 colours, whose bytes reach
// the target unchanged. Keys that a query cannot see keep the colour of the panel.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/view.glsl"
#include "lib/tiles.glsl"
#include "lib/attention_scale.glsl"
layout(push_constant) uniform Push { ViewAreaParams p; };
layout(location = 0) out vec4 pixel;

MapCell cell_of(uvec2 map, uint row, uint column) {
    return p.mini_map > 0u ? mini_map_cell(map, p.mini_map - 1u, row, column) : map_cell(map, row, column);
}
float value_of(MapCell cell) { return p.peak == 1u ? cell.peak : cell.mass; }

void main() {
    vec2 at = (gl_FragCoord.xy - vec2(p.left, p.top)) / vec2(p.pixels_wide, p.pixels_high);
    uint row = uint(max(p.first_row + at.y * p.rows, 0.0)), column = uint(max(p.first_column + at.x * p.columns, 0.0));
    ViewTileMap map = TileMaps(p.map).map;
    bool hidden = p.mini_map > 0u ? p.hide_future == 1u && column > row
                                  : map_hides(map, row >> map.level, column >> map.level);
    if (hidden) discard;
    MapCell cell = cell_of(p.map, row, column), other = cell;
    bool difference = present(p.minus);
    if (difference) other = cell_of(p.minus, row, column);
    if (!cell.known || !other.known || cell.level != other.level) {
        pixel = unpackUnorm4x8(p.unknown);
        return;
    }
    float value = value_of(cell);
    uint colour = uint(position_on(p.bar, value) * 255.0 + 0.5);
    if (difference) {
        float change = value - value_of(other);
        colour = uint(128.0 + floor(sign(change) * position_on(p.bar, abs(change)) * 127.0 + 0.5));
    }
    pixel = unpackUnorm4x8(ReadWords(p.colours).at[colour]);
}
