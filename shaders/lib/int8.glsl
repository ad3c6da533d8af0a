// Four bytes of a word at once: dot products of quantised weights (lib/weight_bytes.glsl) with rows that are rounded to
// bytes (lib/round_bytes.glsl).
#extension GL_EXT_integer_dot_product : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#include "lib/round_bytes.glsl"
#include "lib/weight_bytes.glsl"

int dot4(uint a, uint b) { return dotPacked4x8EXT(int(a), int(b)); }
// In one chain, so that each instruction adds to the sum of the one before.
int add_dots(int sum, uvec4 a, uvec4 b) {
    sum += dot4(a.x, b.x);
    sum += dot4(a.y, b.y);
    sum += dot4(a.z, b.z);
    sum += dot4(a.w, b.w);
    return sum;
}
