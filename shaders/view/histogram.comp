// Counts the visible cells by their place on the colour bar. Lanes stride over the cells; a workgroup counts by itself
// first. Of two runs the distances of their cells are counted; a cell that is 0 in one of them may be a gap.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/tiles.glsl"
#include "lib/attention_scale.glsl"
layout(push_constant) uniform Push { ViewHistogramParams t; };

shared uint counts[HISTOGRAM_COUNTS];

uint bin_of(float value) {
    if (value < t.bar.value_min) return 0u;
    const float rounded = 1.00001;  // a single weight of 1 may come out a little larger
    if (value > t.bar.value_max * rounded) return HISTOGRAM_COUNTS - 1u;
    return 1u + min(uint(position_on(t.bar, value) * HISTOGRAM_BINS), HISTOGRAM_BINS - 1u);
}

void main() {
    uint lane = gl_LocalInvocationID.x, lanes = gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_WorkGroupSize.x;
    for (uint i = lane; i < HISTOGRAM_COUNTS; i += gl_WorkGroupSize.x) counts[i] = 0u;
    barrier();
    ViewTileMap map = TileMaps(t.map).map;
    for (uint i = invocation_index(); i < t.rows * t.columns; i += lanes) {
        uint row = t.first_row + i / t.columns, column = t.first_column + i % t.columns;
        if (map_hides(map, row, column)) continue;
        MapCell cell = map_cell(t.map, row << map.level, column << map.level);
        if (!cell.known) continue;
        float value = t.peak == 1u ? cell.peak : cell.mass;
        if (present(t.minus)) {
            MapCell other = map_cell(t.minus, row << map.level, column << map.level);
            if (!other.known || value == 0.0 || other.mass == 0.0) continue;
            value = abs(value - (t.peak == 1u ? other.peak : other.mass));
        }
        atomicAdd(counts[bin_of(value)], 1u);
    }
    barrier();
    for (uint i = lane; i < HISTOGRAM_COUNTS; i += gl_WorkGroupSize.x)
        if (counts[i] > 0u) atomicAdd(Words(t.result).at[i], counts[i]);
}
