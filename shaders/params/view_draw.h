// Parameters of the viewer's vertex and fragment shaders. Positions are pixels from the upper left corner.
#include "params/types.h"
#include "params/view_scale.h"
#ifndef VANTAGE_VIEW_DRAW_H
#define VANTAGE_VIEW_DRAW_H
VANTAGE_PARAMS_BEGIN
struct ViewUiParams {
    uvec2 vertices;       // 5 words each: x, y, u, v, colour (ABGR bytes)
    uvec2 indices;        // u32
    uvec2 atlas;          // the font's letters, one byte of coverage a pixel
    float width, height;  // of the target
    uint atlas_width, atlas_height;
};
// An area of the target with a map in it: the focused head's, or one mini-map. Or with a picture: `map` is its pixels
// then, ABGR bytes row by row, and `rows` and `columns` are its size.
struct ViewAreaParams {
    uvec2 map;                                     // ViewTileMap
    uvec2 minus;                                   // another, whose cells are taken away; absent: none
    uvec2 colours;                                 // 256 words, ABGR bytes: the colour map from dark to bright
    float width, height;                           // of the target
    float left, top, pixels_wide, pixels_high;     // the area
    float first_row, first_column, rows, columns;  // what it shows, in tokens; of a mini-map in cells
    ViewScale bar;                                 // from value to colour; of a difference to both sides of 128
    uint peak;                                     // 1: the largest weight of a cell, not the sum
    uint hide_future;                              // of a mini-map, 1: columns beyond the row hold nothing
    uint mini_map;                                 // number of the head plus 1; 0: the focused map
    uint unknown;                                  // ABGR bytes: a cell that is not made yet
};
VANTAGE_PARAMS_END
#endif
