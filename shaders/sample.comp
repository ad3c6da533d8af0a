// sample: draws the next token of each sequence and appends it: tokens[end] = token, end += 1.
//   bias -> penalty -> temperature -> top-k -> softmax -> top-p -> min-p -> draw; temperature 0 takes the largest.
//
// One workgroup per sequence; lib/sampling.glsl says how. All parameters are words of the step, so that a recording
// serves any. The random number is counted by seed and by the token's place, so that it does not depend on how the
// prompt was cut. Nothing happens when the sequence is done, or when the run has not come to its last known token (a
// prompt in chunks). Logits with a NaN or +inf, or all of -inf, draw nothing: the sequence ends as one without an answer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/penalty.glsl"
#include "lib/random.glsl"
#include "lib/rows.glsl"
#include "params/sample.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
SAMPLE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/sampling.glsl"

layout(push_constant) uniform Push { SampleParams p; };

uint lane = gl_WorkGroupID.x, sequence = sequence_of(p.step, lane);
uvec2 own_step = step_of(p.step, lane), seen = row_address(p.seen, F32, sequence, p.seen_words);
uvec2 bias = row_address(p.bias, F32, sequence, p.vocab);
Row logits = row_of(p.logits, X_TYPE, lane, p.vocab);

float penalty;
bool biased;
uint sampling_bits(uint i) {
    uint bits = load_bits(logits.address, X_TYPE, logits.begin + i);
    if (biased) {
        precise float sum = uintBitsToFloat(bits) + uintBitsToFloat(ReadWords(bias).at[i]);
        bits = floatBitsToUint(sum);
    }
    if (penalty == 1.0 || (ReadWords(seen).at[i >> 5] >> (i & 31u) & 1u) == 0u) return bits;
    precise float value = penalized(uintBitsToFloat(bits), penalty);
    return floatBitsToUint(value);
}

uint word(uint i) { return Words(own_step).at[i]; }
float number(uint i) { return uintBitsToFloat(word(i)); }

void append(uint token, uint end) {
    uint done = end + 1u >= min(word(STEP_LIMIT), p.token_count) ? 2u : 0u;
    for (uint i = 0u; i < min(word(STEP_END_TOKENS), STEP_WORDS - STEP_END_TOKEN); ++i)
        if (word(STEP_END_TOKEN + i) == token) done = 1u;
    Words(row_address(p.tokens, F32, sequence, p.token_count)).at[end] = token;
    Words(own_step).at[STEP_END] = end + 1u;
    Words(own_step).at[STEP_DONE] = done;
}

void main() {
    uint end = word(STEP_END), valid = word(STEP_VALID);
    float temperature = number(STEP_TEMPERATURE);
    if (word(STEP_DONE) != 0u || valid == 0u || word(STEP_POSITION) + valid != end) return;
    if (end >= min(word(STEP_LIMIT), p.token_count)) {
        if (gl_LocalInvocationID.x == 0u) Words(own_step).at[STEP_DONE] = 2u;
        return;
    }
    penalty = present(p.seen) ? number(STEP_PENALTY) : 1.0;
    biased = present(p.bias) && word(STEP_BIASED) != 0u;
    uvec2 top = sampling_top(p.vocab);
    if (top.x == 0u || no_answer != 0u) {
        if (gl_LocalInvocationID.x == 0u) Words(own_step).at[STEP_DONE] = STEP_NO_ANSWER;
        return;
    }
    uint token = top.y;
    if (temperature > 0.0) {
        Sampling s = narrowed(Sampling(p.vocab, top.x, 1u, temperature, 0.0), word(STEP_TOP_K), number(STEP_TOP_P), number(STEP_MIN_P));
        token = sampling_draw(s, philox(uvec4(end, 0u, 0u, 0u), uvec2(word(STEP_SEED_LOW), word(STEP_SEED_HIGH))).x);
    }
    if (gl_LocalInvocationID.x == 0u) append(token, end);
}
