// What the kernels of cached_linear_attention share: the feature map elu(x) + 1, the keys' logarithms, and where sums
// lie. The including kernel declares CACHED_LINEAR_ATTENTION_CONSTANTS.
#include "lib/activation.glsl"
#include "lib/cache.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { CachedLinearAttentionParams p; };

const float LOWEST = -3.0e38;

float feature(float x) { return FEATURE == 0u ? x : elu_plus_1(x); }
float key_log(uint sequence, uint key, uint kv_head) {
    return ReadFloats(p.key_log).at[cache_head_row(sequence, p.m, key, kv_head, p.kv_heads)];
}
// The chunk of the run's first row.
uint chunk_of_run(uvec2 step) { return ReadWords(step).at[STEP_POSITION] / CHUNK; }

// Sums of a slot are (D, Dv + 1), as in LinearAttentionParams, then the maximum that they are relative to.
uint cells() { return p.d * (p.dv + 1u); }
uint first_cell(uint head, uint slot) { return (head * p.slots + slot) * (cells() + 1u); }
void put_sum(uint head, uint slot, uint cell, float sum, float maximum) {
    uint first = first_cell(head, slot);
    Floats(p.sums).at[first + cell] = sum;
    if (cell == 0u) Floats(p.sums).at[first + cells()] = maximum;
}
