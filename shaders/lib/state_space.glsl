// What the kernels of state_space and its gradients share: numbers that are real, or complex with COMPLEX; A, the step
// sizes, the places of states and sums. `p`, with channels and chunks, is declared by then.
#include "lib/activation.glsl"
#include "lib/kept_states.glsl"

// Compilers may multiply it by log2(e) first, and infinity times a step of 0 is no number. A NaN stays.
float bounded(float a) { return a < -1e30 ? -1e30 : a; }

#ifdef COMPLEX
#define NUMBER vec2
#define PARTS 2u
NUMBER number(uvec2 address, uint type, uint i) { return vec2(load(address, type, 2u * i), load(address, type, 2u * i + 1u)); }
NUMBER product(NUMBER a, NUMBER b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
float real_product(NUMBER a, NUMBER b) { return a.x * b.x - a.y * b.y; }
NUMBER conjugate(NUMBER a) { return vec2(a.x, -a.y); }
// cos and sin of x. Vulkan's own need only be good to 2^-11: x is turned into the quarter around 0, in three parts of
// pi / 2, and the rest is a polynomial.
vec2 turned(float x) {
    float quarters = roundEven(x * 0.63661977);
    precise float rest = fma(-quarters, -1.7151245e-15, fma(-quarters, 7.5497901e-08, fma(-quarters, 1.5707962513, x)));
    float square = rest * rest;
    float sine = rest * (1.0 + square * (-0.16666667 + square * (0.0083333333 + square * (-0.00019841270 + square * 2.7557319e-06))));
    float cosine = 1.0 + square * (-0.5 + square * (0.041666667 + square * (-0.0013888889 + square * 2.4801587e-05)));
    uint quarter = uint(int(quarters)) & 3u;
    vec2 turn = (quarter & 1u) != 0u ? vec2(-sine, cosine) : vec2(cosine, sine);
    return (quarter & 2u) != 0u ? -turn : turn;
}
NUMBER exponential(NUMBER x) { return exp(x.x) * turned(x.y); }
NUMBER rate(NUMBER a) { return vec2(bounded(LOGARITHM ? -exp(a.x) : a.x), a.y); }
// The gradient by ln(-A) of that by A.
NUMBER by_logarithm(NUMBER da, NUMBER a) { return vec2(da.x * a.x, da.y); }
#else
#define NUMBER float
#define PARTS 1u
NUMBER number(uvec2 address, uint type, uint i) { return load(address, type, i); }
NUMBER product(NUMBER a, NUMBER b) { return a * b; }
float real_product(NUMBER a, NUMBER b) { return a * b; }
NUMBER conjugate(NUMBER a) { return a; }
NUMBER exponential(NUMBER x) { return exp(x); }
NUMBER rate(NUMBER a) { return bounded(LOGARITHM ? -exp(a) : a); }
NUMBER by_logarithm(NUMBER da, NUMBER a) { return da * a; }
#endif

void put(uvec2 address, uint i, NUMBER value) {
#ifdef COMPLEX
    Words(address).at[2u * i] = floatBitsToUint(value.x), Words(address).at[2u * i + 1u] = floatBitsToUint(value.y);
#else
    Words(address).at[i] = floatBitsToUint(value);
#endif
}
NUMBER kept_number(uvec2 address, uint i) {
#ifdef COMPLEX
    return vec2(uintBitsToFloat(Words(address).at[2u * i]), uintBitsToFloat(Words(address).at[2u * i + 1u]));
#else
    return uintBitsToFloat(Words(address).at[i]);
#endif
}

float step_size(uvec2 deltas, uint row, uint channel) {
    float delta = load(deltas, DELTA_TYPE, BY_TOKEN ? row * p.channels + channel : channel);
    return SOFTPLUS ? softplus(delta) : delta;
}
// A row of states; the number of a channel's first state in it is channel * STATES.
uvec2 state_row(uvec2 table, uint row) { return row_address(table, F32, row, p.channels * STATES * PARTS); }
// i - 1, for loops from the last row back. When such a loop has ended, lavapipe of Mesa 26.2 reads once more what is the
// same for all lanes, with no lane active: there must be memory.
uint one_before(uint i) { return max(i, 1u) - 1u; }
// The states that a run begins with.
NUMBER first_number(uvec2 state, uint row, uint i) {
    return row != no_row && present(state) ? kept_number(state_row(state, row), i) : NUMBER(0.0);
}
// The sums of a chunk: (channels, states) numbers, then (channels) floats.
uvec2 sums_of(uvec2 sums, uint lane, uint chunk) {
    return row_address(sums, F32, lane * p.chunks + chunk, p.channels * (STATES * PARTS + 1u));
}
uint step_sum_of(uint channel) { return p.channels * STATES * PARTS + channel; }
