// Neighbouring elements in neighbouring lanes, for CPU devices whose lanes are those of a vector unit
// (Caps::loads_uniform_once).
//
// Where each lane loads from an address of its own, such a device gathers, even if lanes follow each other in memory. A
// load from one address for all lanes is one plain load. So a vector is put together here of one such load for each
// lane: the device's compiler makes them a single load of a whole vector, as long as addresses differ by constants: `i`
// has to be one, and addresses are 64-bit integers, whose sums stay scalars. These loads know of no inactive lanes: a
// loop that uses them tests at its end. A workgroup is one subgroup of at most 16 lanes.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "lib/storage.glsl"

const uint LANES = gl_WorkGroupSize.x;
// Constants to such compilers (gl_LocalInvocationID is made by divisions), as long as they are made before any loop:
// what a loop makes and code after it uses becomes a variable. Kernels take their parameters out of loops for the same
// reason.
uint lane = gl_SubgroupInvocationID;
bvec4 lane_among[4] = bvec4[4](equal(uvec4(lane), uvec4(0u, 1u, 2u, 3u)), equal(uvec4(lane), uvec4(4u, 5u, 6u, 7u)),
                               equal(uvec4(lane), uvec4(8u, 9u, 10u, 11u)), equal(uvec4(lane), uvec4(12u, 13u, 14u, 15u)));

// Address of element i; of f32 and 16-bit types.
uint64_t address_of(uvec2 address, uint type, uint64_t i) { return packUint2x32(address) + i * (type == F32 ? 4u : 2u); }

// Words i … i + LANES - 1, one for each lane, as floats.
float load_lane_words(uint64_t address, uint i) {
    ReadFloats from = ReadFloats(address);
    float value = from.at[i];
    [[unroll]] for (uint l = 1u; l < LANES; ++l) value = mix(value, from.at[i + l], lane_among[l / 4u][l % 4u]);
    return value;
}
// Elements i … i + LANES - 1; of 16-bit types each lane its own.
float load_lanes(uint64_t address, uint type, uint i) {
    if (type == F32) return load_lane_words(address, i);
    return load(unpackUint2x32(address), type, i + lane);
}
void store_lanes(uint64_t address, uint i, float value) { Floats(address).at[i + lane] = value; }  // f32

// Over all lanes, the same in each.
float sum_of_lanes(float value) {
    [[unroll]] for (uint step = 1u; step < LANES; step *= 2u) value += subgroupShuffleXor(value, step);
    return value;
}
float max_of_lanes(float value) {
    [[unroll]] for (uint step = 1u; step < LANES; step *= 2u) value = max(value, subgroupShuffleXor(value, step));
    return value;
}
// Lane l's sum of parts[l] over all lanes, by a butterfly of exchanges. Changes `parts`.
float whole_sum(inout float parts[LANES]) {
    [[unroll]] for (uint step = LANES / 2u; step > 0u; step /= 2u)
        [[unroll]] for (uint i = 0u; i < step; ++i) {
            bool upper = (lane & step) != 0u;
            float keep = mix(parts[i], parts[i + step], upper), give = mix(parts[i + step], parts[i], upper);
            parts[i] = keep + subgroupShuffleXor(give, step);
        }
    return parts[0];
}

const float log2_e = 1.4426950408889634;
// 2^x for x <= 0, 0 from x = -127 on: 2^n (n the nearest integer, put into the exponent) times a polynomial for the
// rest, the Taylor series to the sixth power: relative error 1e-7. NaN stays. The device's own exp takes twice as long,
// its conversion to integers ten times.
float power_of_2(float x) {
    const float rounding = 12582912.0;  // 1.5 * 2^23: a sum with it has no fraction, and n in its last bits
    x = mix(x, -127.0, x < -127.0);     // not max(), which may prefer -127 to NaN
    precise float shifted = x + rounding, whole = shifted - rounding;
    float rest = x - whole, value = fma(rest, 1.5403530e-4, 1.3333558e-3);
    value = fma(rest, fma(rest, fma(rest, fma(rest, value, 9.6181291e-3), 5.5504109e-2), 2.4022651e-1), 6.9314718e-1);
    value = fma(rest, value, 1.0);
    return value * uintBitsToFloat((floatBitsToUint(shifted) << 23) + floatBitsToUint(1.0));
}
