// Which keys a query sees and what is added to its score (runtime/ops/attention_rules.h), for the kernel and the tap.
//
// Rules that a call does not have are constants, so nothing of them is left in its pipeline. The including kernel's
// parameters are p, with the addresses mask, position_bias, block_mask and segments, and n, m, heads, kv_heads, causal.
#include "lib/activation.glsl"
#include "lib/storage.glsl"

#include "params/attention.h"
ATTENTION_RULE_CONSTANTS(VANTAGE_CONSTANT)
const bool ADDITIVE = BIAS == 6u;  // scores are sum_d w_d tanh(q_d + k_d), and position_bias is w

const float LOWEST = -3.0e38;  // a mask that moves a score below it hides the key

// A query sees near keys: those of the window at distances that DILATION divides, or with SUMMARY_KEYS those of its own
// block of STRIDE keys, and in each case the GLOBAL ones. With a STRIDE it also sees far keys: those at distances that
// STRIDE divides, or the last SUMMARY_KEYS of each block. A launch may take one PART of them: near ones, or those that
// are far and not near.
const bool ONLY_NEAR = STRIDE == 0u || PART == PART_NEAR;

// Keys [begin, end) beyond the first GLOBAL ones that the query at position i may see, as far as windows say it.
uint window_begin(int i) {
    if (!ONLY_NEAR || uint(i) < GLOBAL) return 0u;
    if (SUMMARY_KEYS > 0u) return uint(max(i, 0)) / STRIDE * STRIDE;
    return WINDOW_LEFT == NO_LIMIT ? 0u : uint(max(i - int(WINDOW_LEFT), 0));
}
uint window_end(int i, uint end) {
    if (!ONLY_NEAR || uint(i) < GLOBAL) return end;
    if (SUMMARY_KEYS > 0u) return min(end, max(i < 0 ? 0u : uint(i) / STRIDE * STRIDE + STRIDE, GLOBAL));
    return WINDOW_RIGHT == NO_LIMIT ? end : min(end, max(uint(max(i + int(WINDOW_RIGHT) + 1, 0)), GLOBAL));
}

bool is_near(int i, uint key) {
    if (key < GLOBAL || uint(i) < GLOBAL) return true;
    if (SUMMARY_KEYS > 0u) return uint(i) / STRIDE == key / STRIDE;
    int distance = i - int(key);
    if (WINDOW_LEFT != NO_LIMIT && distance > int(WINDOW_LEFT) || WINDOW_RIGHT != NO_LIMIT && -distance > int(WINDOW_RIGHT)) return false;
    return DILATION <= 1u || uint(abs(distance)) % DILATION == 0u;
}
bool is_far(int i, uint key) {
    if (SUMMARY_KEYS > 0u) return key % STRIDE >= STRIDE - SUMMARY_KEYS;
    return uint(abs(i - int(key))) % STRIDE == 0u;
}
bool is_in_part(int i, uint key) {
    bool near = is_near(i, key);
    if (ONLY_NEAR) return near;
    return PART == PART_FAR ? !near && is_far(i, key) : near || is_far(i, key);
}

// A query before the first key or after the last (more queries than keys) has no block and no segment.
bool has_place(int i) { return uint(i) < p.m; }

// How often the block mask shows a key of a sequence to the query at position i; 0 or less: not at all.
int times_seen(uint sequence, int i, uint key) {
    if (!has_place(i)) return 0;
    uint blocks = (p.m + BLOCK - 1u) / BLOCK, row = (BLOCK_BY_BATCH ? sequence * blocks : 0u) + uint(i) / BLOCK;
    return int(ReadWords(p.block_mask).at[row * blocks + key / BLOCK]);
}

// Of packed documents, whose segments ascend: whether one has tokens among the queries at positions i … last_i and among
// the keys key … last_key.
bool share_documents(uint sequence, int i, int last_i, uint key, uint last_key) {
    const int last = int(p.m) - 1;
    ReadWords segments = ReadWords(row_address(p.segments, F32, sequence, p.m));
    return int(segments.at[key]) <= int(segments.at[clamp(last_i, 0, last)])
        && int(segments.at[clamp(i, 0, last)]) <= int(segments.at[last_key]);
}

// Of packed documents: the places [begin, end) of those that the tokens at the places first … last belong to.
uvec2 places_of_documents(uint sequence, uint first, uint last) {
    ReadWords segments = ReadWords(row_address(p.segments, F32, sequence, p.m));
    uint begin = 0u, end = p.m;
    for (uint high = first; begin < high;) {
        uint middle = (begin + high) / 2u;
        if (int(segments.at[middle]) < int(segments.at[first])) begin = middle + 1u;
        else high = middle;
    }
    for (uint low = last + 1u; low < end;) {
        uint middle = (low + end) / 2u;
        if (int(segments.at[middle]) <= int(segments.at[last])) low = middle + 1u;
        else end = middle;
    }
    return uvec2(begin, end);
}

// Whether the query at position i sees a key of its sequence, apart from the causal mask and the end of the keys.
bool rules_allow(uint sequence, int i, uint key) {
    if (!is_in_part(i, key)) return false;
    if (BLOCK > 0u && times_seen(sequence, i, key) <= 0) return false;
    if (present(p.segments)) {
        if (!has_place(i)) return false;
        uint first = sequence * p.m;
        return ReadWords(p.segments).at[first + uint(i)] == ReadWords(p.segments).at[first + key];
    }
    return true;
}

// Of tables of relative keys, made before: their products with queries (BATCHES, n, heads, 2 REACH + 1) and, of BIAS 4,
// with keys (BATCHES, m, kv_heads, 2 REACH + 1). BATCHES is 1 for kernels of one sequence.
#ifndef BATCHES
#define BATCHES p.batch
#endif
float relative_bias(uint batch, uint head, uint row, uint key, uint at) {
    const uint distances = 2u * REACH + 1u;
    uint of_query = (batch * p.n + row) * p.heads + head;
    float bias = ReadFloats(p.position_bias).at[of_query * distances + at];
    if (BIAS == 3u) return bias;
    uint of_key = (BATCHES * p.n * p.heads) + (batch * p.m + key) * p.kv_heads + head / (p.heads / p.kv_heads);
    return bias + ReadFloats(p.position_bias).at[of_key * distances + at];
}

float position_bias(uint batch, uint head, uint row, int i, uint key) {
    int distance = int(key) - i, reach = int(REACH);
    if (BIAS == 0u) return ReadFloats(p.position_bias).at[head] * float(p.causal != 0u ? distance : -abs(distance));
    if (BIAS == 5u) return ReadFloats(p.position_bias).at[key * p.kv_heads + head / (p.heads / p.kv_heads)];
    uint at = uint(clamp(distance, -reach, reach) + reach);
    if (BIAS > 2u) return relative_bias(batch, head, row, key, at);
    return ReadFloats(p.position_bias).at[(BIAS == 1u ? at : key) * p.heads + head];
}

// What `count` elements of a query and of a key from d on add to an additive score.
float additive_part(vec4 q, vec4 k, uint d, uint count) {
    float sum = 0.0;
    for (uint c = 0u; c < count; ++c) sum += ReadFloats(p.position_bias).at[d + c] * stable_tanh(q[c] + k[c]);
    return sum;
}

// Lanes of a batch have queries, biases and masks; the keys and the block mask are those of a lane's sequence.
float ruled_score(float score, uint batch, uint sequence, uint head, uint row, int i, uint key) {
    if (SOFTCAP > 0.0) score = SOFTCAP * stable_tanh(score / SOFTCAP);
    if (present(p.position_bias) && !ADDITIVE) score += position_bias(batch, head, row, i, key);
    if (present(p.mask)) {
        uint sheet = (MASK_BY_BATCH ? batch : 0u) * (MASK_BY_HEAD ? p.heads : 1u) + (MASK_BY_HEAD ? head : 0u);
        score += ReadFloats(p.mask).at[(sheet * p.n + row) * p.m + key];
    }
    if (BLOCK > 0u) {
        int times = times_seen(sequence, i, key);
        if (times > 1) score += log(float(times));
    }
    return score;
}
