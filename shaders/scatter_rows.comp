// scatter_rows: y_r = scale times the sum of the rows x_i with ids_i = r, in the order of i; 0 where there is none.
//
// A workgroup makes a row of y: no atomics, and the same bits in every run. First its invocations look for the row among
// all ids, each in a range of them: a vocabulary has far more rows than a batch has tokens, so most rows have none.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/scatter_rows.h"
SCATTER_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ScatterRowsParams p; };

const uint MOST_LISTED = 256u;
shared uint listed[MOST_LISTED];         // rows of x that go to this one, ascending
shared uint counts[gl_WorkGroupSize.x];  // by invocation
shared uint sum_of_counts;

// How many rows of x go to `row`. They are listed if they are not too many.
uint rows_for(uint row) {
    uint lane = gl_LocalInvocationID.x, each = (p.count + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
    uint begin = min(lane * each, p.count), end = min(begin + each, p.count), own = 0u;
    if (lane == 0u) sum_of_counts = 0u;
    for (uint i = begin; i < end; ++i) own += uint(ReadWords(p.ids).at[i] == row);
    counts[lane] = own;
    barrier();
    if (own > 0u) atomicAdd(sum_of_counts, own);
    barrier();
    uint all = sum_of_counts;
    if (own > 0u && all <= MOST_LISTED) {  // most rows of a vocabulary are in no batch
        uint next = 0u;
        for (uint other = 0u; other < lane; ++other) next += counts[other];
        for (uint i = begin; i < end; ++i)
            if (ReadWords(p.ids).at[i] == row) listed[next++] = i;
    }
    barrier();
    return all;
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint all = p.ids_below == 0u ? rows_for(row) : 0u;
    bool has_list = all <= MOST_LISTED;
    Row y = row_of(p.y, F32, row, p.width);
    for (uint col = gl_LocalInvocationID.x * STEP; col < p.width; col += gl_WorkGroupSize.x * STEP) {
        vec4 total = vec4(0.0);
        if (p.ids_below == 0u) {
            for (uint k = 0u; k < (has_list ? all : p.count); ++k) {
                uint i = has_list ? listed[k] : k;
                if (ReadWords(p.ids).at[i] != row) continue;
                Row x = row_of(p.x, X_TYPE, i, p.width);
                total += load_step(x.address, X_TYPE, x.begin + col);
            }
        } else if (row >= p.first && row - p.first < p.count && ReadWords(p.ids).at[row - p.first] < p.ids_below) {
            Row x = row_of(p.x, X_TYPE, row - p.first, p.width);
            total = load_step(x.address, X_TYPE, x.begin + col);
        }
        store_step(y.address, F32, y.begin + col, p.scale * total);
    }
}
