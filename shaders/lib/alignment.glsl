// What both kernels of alignment know: which keys a query sees.
#include "params/alignment.h"
ALIGNMENT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/steps.glsl"
layout(push_constant) uniform Push { AlignmentParams p; };

uint visible_keys(uint sequence) {
    return present(p.kv_len) ? min(p.keys, uint(max(int(ReadWords(p.kv_len).at[sequence]), 0))) : p.keys;
}
