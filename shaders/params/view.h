// Parameters of the viewer's kernels and fragment shaders.
#include "params/attention.h"
#include "params/view_scale.h"
#ifndef VANTAGE_VIEW_H
#define VANTAGE_VIEW_H
#define TILE_CELLS 64   // rows and columns of a tile
#define MAP_FUTURE 1u   // columns beyond the row
#define MAP_CORNERS 2u  // column = row + keys - 1 - key: those of no key
#define STREAM_STRIP 4  // neighbouring cells that a workgroup of stream.comp makes
VANTAGE_PARAMS_BEGIN
// A map in tiles: this, followed by tile_rows * tile_columns words, row by row. A word is 0 where there is no tile,
// else
//   (slot + 1) << 12 | levels coarser << 8 | rows of cells that are there, 0 … 64 from the first on, plus 1.
// Slot s of the pool is at pool + s * 32768: f32 [64][64][2], the mass and the peak of each cell.
struct ViewTileMap {
    uvec2 pool;
    uint level;  // a cell covers 2^level rows and columns
    uint first_tile_row, first_tile_column;
    uint tile_rows, tile_columns;  // of this map; of mini-maps 1 and the count of heads
    uint rows, columns;            // that there are: what lies beyond is no part of the map
    uint hidden;                   // which cells hold nothing: MAP_…
};

// How a layer attends, and where its rows are: what lib/tapped_weight.glsl wants, with the values.
struct ViewSource {
    uvec2 q, k, v, lse;                               // (n, heads, d), (m, kv_heads, d), (m, kv_heads, dv), (n, heads)
    uvec2 mask, position_bias, block_mask, segments;  // as in AttentionParams
    uint n, m, heads, kv_heads, d, dv, causal;
    float scale;
};
// Modifiers are factors of one head, each an address or absent: a weight is shown as
//   p_ij row_factors[i] key_factors[j] / distance_means[i - j + m]
// Rows and columns of a map are tokens, or slots on which two texts are aligned: entry s of a table of slots is how
// many tokens of this text come before slot s. Without a table (absent) they are the same.
struct ViewTileParams {
    uvec2 source, cells;  // ViewSource; the slot
    uvec2 row_factors, key_factors, distance_means;
    uvec2 row_slots, key_slots;
    uint head, level;
    uint first_row, first_column;  // of the tile, in slots
    uint begin, end;               // the rows that this launch takes, in slots
    uint rows, columns;            // that there are, in slots
    uint keys;                     // that there are
    uint rows_before;              // that the means of cells are over of which a part is there
    uint relative, origin;         // column = slot of the key, or i + origin - key
};
// Weights [rows, columns] from a first one on, in tokens; NaN where a query does not see a key.
struct ViewExcerptParams {
    uvec2 source, result;
    uvec2 row_factors, key_factors, distance_means;
    uint head, first_row, first_column, rows, columns;
    uint keys, relative, origin;
};
// The cells of a tile from the four of the level below, those that are absent 0.
struct ViewPoolParams {
    uvec2 cells, upper_left, upper_right, lower_left, lower_right;
    uvec2 row_slots;
    uint first_row, level, rows;  // of the tile, in slots; its level; rows that there are
};
// How many cells of a part of a map have which value: those below the bar's dark end, HISTOGRAM_BINS along it, those
// above its bright end. Counts are added to what is there. With `minus` the distances of two maps' cells are counted,
// where both have weights.
#define HISTOGRAM_BINS 64
#define HISTOGRAM_COUNTS 66
struct ViewHistogramParams {
    uvec2 map, minus, result;  // ViewTileMap
    ViewScale bar;
    uint first_row, first_column, rows, columns;  // in cells
    uint peak;                                    // 1: by the largest weight of a cell, not the sum
};
// Which kernel of factors.comp it is: key factors, row factors, means by distance.
#define VIEW_KEYS 0
#define VIEW_ROWS 1
#define VIEW_DISTANCES 2
struct ViewFactorParams {
    uvec2 source, result;
    uvec2 row_factors, key_factors;
    uint head, kind, first, count;  // results [first, first + count)
    uint rows, keys;                // that there are
    uint sink_off, value_weighted, row_normalised;
};
struct ViewDistanceParams {
    uvec2 source, weights, result;  // weights f32 [count, heads, columns]; results f32 [count, heads]
    uvec2 row_slots, key_slots;
    uint head, heads;   // heads from 0 on
    uint first, count;  // rows, in slots
    uint columns;       // slots of keys
    uint second;        // 0: leave the weights; 1: compare with them
};
struct ViewHoveredWeightParams {
    uvec2 source, result;
    uint head, row, key, keys;
};
// What a probe answers, in words: the weight, its logit, how many are larger, the row's sum and entropy; the largest
// weights, each with its key, NO_LIMIT for none.
#define PROBE_WEIGHT 0
#define PROBE_LOGIT 1
#define PROBE_LARGER 2
#define PROBE_SUM 3
#define PROBE_ENTROPY 4
#define PROBE_TOP 5
#define PROBE_TOP_COUNT 8
#define HOVERED_WEIGHT_WORDS 21
VANTAGE_PARAMS_END

#define VIEW_STREAM_CONSTANTS(C)                                         \
    C(4, uint, D, 64)   /* width of queries and keys, a multiple of 4 */ \
    C(5, uint, EACH, 1) /* a power of two; cells are at least as high */ \
    C(6, uint, KEYS, 4) /* scored at a time */
VANTAGE_CONSTANTS(ViewStreamConstants, TAP_CONSTANTS, VIEW_STREAM_CONSTANTS)
#endif
