// What the kernels of expert_linear by tiles share. They declare STEP_N.
#include "lib/experts.glsl"

// A tile of the choices of one expert, in the order of sort_by_expert. The last tiles are of the choices without an
// expert (p.experts), and some are left over: they begin where they end.
struct ExpertTile {
    uint expert, begin, end;
};
ExpertTile expert_tile(uint tile, uint rows) {
    for (uint expert = 0u; expert <= p.experts; ++expert) {
        uint begin = ReadWords(p.offsets).at[expert], end = ReadWords(p.offsets).at[expert + 1u], tiles = (end - begin + rows - 1u) / rows;
        if (tile < tiles) return ExpertTile(expert, begin + tile * rows, end);
        tile -= tiles;
    }
    return ExpertTile(p.experts, 0u, 0u);
}
// The row of x that row `row` of a tile reads; the last one's beyond the end.
uint row_of_choice(ExpertTile tile, uint row) { return ReadWords(p.order).at[min(tile.begin + row, tile.end - 1u)] / p.share; }
// Stores up to four columns of a tile's row, from `col` on: the sums plus the bias, zeros for a choice without an expert.
void store_choice(ExpertTile tile, uint row, uint col, vec4 sums) {
    if (tile.begin + row >= tile.end || col >= p.n) return;
    uint cell = ReadWords(p.order).at[tile.begin + row] * p.n + col;
    bool none = tile.expert == p.experts;
    [[unroll]] for (uint e = 0u; e < 4u; ++e) sums[e] = none || col + e >= p.n ? 0.0 : with_bias(sums[e], tile.expert, col + e);
    if (STEP_N == 4u)
        store4(p.y, X_TYPE, cell, sums);
    else
        for (uint e = 0u; e < min(4u, p.n - col); ++e) store(p.y, X_TYPE, cell + e, sums[e]);
}
