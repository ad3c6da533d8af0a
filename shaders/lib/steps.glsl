// A row in steps of one or of four elements.
//
// STEP, a specialization constant of the kernel, is 4 where rows begin on a boundary of four elements (row length a
// multiple of 4), else 1. The elements that a step of 1 does not have are 0, and step_sum and step_max leave them out.
// So one loop serves both, and the compiler drops the three unused lanes.
// Written with `if`: Mesa 22.3 folds a vector `STEP == 4u ? a : b` of two constants wrongly (only the first component).
#include "lib/storage.glsl"
#include "lib/wide.glsl"

float step_sum(vec4 value) {
    if (STEP == 4u) return (value.x + value.y) + (value.z + value.w);
    return value.x;
}
float step_max(vec4 value) {
    if (STEP == 4u) return max(max(value.x, value.y), max(value.z, value.w));
    return value.x;
}
vec4 load_step(uvec2 address, uint type, uint i) {
    if (STEP == 4u) return LOAD4(address, type, i);
    return vec4(load(address, type, i), 0.0, 0.0, 0.0);
}
void store_step(uvec2 address, uint type, uint i, vec4 value) {
    if (STEP == 4u)
        STORE4(address, type, i, value);
    else
        store(address, type, i, value.x);
}
