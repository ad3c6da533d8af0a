// Which tokens may be drawn and how likely each is, without sorting them: temperature -> top-k -> softmax -> top-p ->
// min-p.
//
// A token has a key, its logit as an integer of the same order (lib/order.glsl), and a weight, exp((x - max) / T) as an
// integer in units of 2^-31. Sums of integers are the same in any order, so every device and workgroup size that agrees
// on the weights agrees on the set, on the total and on the token drawn; and a token of weight 0 can never be drawn.
// A threshold (the k-th largest, or the last of the smallest set that holds the mass top_p) is found in four rounds
// that each settle eight bits of its key: a histogram by the next eight bits, counted from the top. Equal values stay
// together.
//
// One workgroup per row; include after local_size is declared. The kernel defines `sampling_bits`.
#include "lib/order.glsl"

// Bits of token i's logit.
uint sampling_bits(uint i);
// Its key; the larger the more probable, 0 for one that cannot be drawn.
uint sampling_key(uint i) { return order_key(sampling_bits(i)); }

const uint WEIGHT_ONE = 0x80000000u;  // weight of the most probable token

struct Sampling {
    uint count;         // tokens
    uint top;           // largest key
    uint min_key;         // smallest key that may be drawn
    float temperature;  // > 0
    float min_p;        // smallest weight that may be drawn, as a part of the largest
};

// ---- 64-bit integers as (low, high) ---------------------------------------------------------------------------------
uvec2 wide_add(uvec2 a, uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}
uvec2 wide_sub(uvec2 a, uvec2 b) {
    uint borrow, low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}
bool wide_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
// a * fraction / 2^32, rounded down.
uvec2 wide_part(uvec2 a, uint fraction) {
    uint high0, low0, high1, low1;
    umulExtended(a.x, fraction, high0, low0);
    umulExtended(a.y, fraction, high1, low1);
    return wide_add(uvec2(low1, high1), uvec2(high0, 0u));
}

// ---- weights --------------------------------------------------------------------------------------------------------
uint sampling_weight(Sampling s, uint key) {
    if (key == 0u || key < s.min_key) return 0u;
    if (key == s.top) return WEIGHT_ONE;
    precise float exponent = (order_value(key) - order_value(s.top)) / s.temperature;
    if (!(exponent > -22.0)) return 0u;  // below 2^-31
    float weight = exp(exponent);
    return weight >= s.min_p ? min(uint(weight * 2147483648.0), WEIGHT_ONE) : 0u;
}

// ---- thresholds -----------------------------------------------------------------------------------------------------
shared uint bin_low[256], bin_high[256];
shared uvec2 sixteen[16], wanted;
shared uint chosen;

uvec2 bin(uint i) { return uvec2(bin_low[i], bin_high[i]); }

// Adds to a 64-bit bin; which invocation carries depends on their order, the sum does not.
void add_to_bin(uint i, uint amount) {
    uint before = atomicAdd(bin_low[i], amount);
    if (before + amount < before) atomicAdd(bin_high[i], 1u);
}

// The amounts of all tokens whose upper bits are `prefix`, by the eight bits below.
void fill_bins(Sampling s, uint prefix, uint shift, bool by_count) {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    for (uint i = lane; i < 256u; i += lanes) bin_low[i] = bin_high[i] = 0u;
    barrier();
    for (uint i = lane; i < s.count; i += lanes) {
        uint key = sampling_key(i);
        if (shift < 24u && key >> shift >> 8u != prefix) continue;
        uint weight = sampling_weight(s, key);
        if (weight > 0u) add_to_bin(key >> shift & 255u, by_count ? 1u : weight);
    }
    barrier();
    if (lane < 16u) {
        uvec2 sum = uvec2(0u);
        for (uint i = lane * 16u; i < lane * 16u + 16u; ++i) sum = wide_add(sum, bin(i));
        sixteen[lane] = sum;
    }
    barrier();
}

// What the amounts of the tokens to keep must reach: k, or fraction / 2^32 of all, at least one.
uvec2 wanted_of(bool by_count, uint k_or_fraction) {
    uvec2 all = uvec2(0u);
    for (uint i = 0u; i < 16u; ++i) all = wide_add(all, sixteen[i]);
    uvec2 amount = by_count ? uvec2(min(k_or_fraction, all.x), 0u) : wide_part(all, k_or_fraction);
    return wide_less(amount, uvec2(1u, 0u)) ? uvec2(1u, 0u) : amount;
}

// The bin in which the amounts, added from the last bin down, reach `wanted`; `wanted` loses what lies above it.
uint find_bin() {
    uint group = 15u;
    for (; group > 0u && wide_less(sixteen[group], wanted); --group) wanted = wide_sub(wanted, sixteen[group]);
    uint i = group * 16u + 15u;
    for (; i > group * 16u && wide_less(bin(i), wanted); --i) wanted = wide_sub(wanted, bin(i));
    return i;
}

// The largest key such that the tokens that have it or a larger one are at least k (by_count), or have at least
// fraction / 2^32 of the weight of all.
uint threshold(Sampling s, bool by_count, uint k_or_fraction) {
    uint prefix = 0u;
    for (uint round = 0u; round < 4u; ++round) {
        fill_bins(s, prefix, 24u - 8u * round, by_count);
        if (gl_LocalInvocationID.x == 0u) {
            if (round == 0u) wanted = wanted_of(by_count, k_or_fraction);
            chosen = find_bin();
        }
        barrier();
        prefix = prefix << 8u | chosen;
        barrier();
    }
    return prefix;
}

// Narrows `s` to what may be drawn. top_k = 0, top_p >= 1 and min_p = 0 leave all in.
Sampling narrowed(Sampling s, uint top_k, float top_p, float min_p) {
    s.min_key = 1u;
    s.min_p = 0.0;
    if (top_k > 0u && top_k < s.count) s.min_key = threshold(s, true, top_k);
    if (top_p < 1.0) s.min_key = threshold(s, false, uint(max(top_p, 0.0) * 4294967296.0));
    s.min_p = min_p;
    return s;
}

// ---- the whole ------------------------------------------------------------------------------------------------------
shared uvec2 scan_slots[gl_WorkGroupSize.x];

// The sum over this and all earlier invocations.
uvec2 workgroup_scan(uvec2 value) {
    uint lane = gl_LocalInvocationID.x;
    barrier();
    scan_slots[lane] = value;
    barrier();
    for (uint distance = 1u; distance < gl_WorkGroupSize.x; distance *= 2u) {
        if (lane >= distance) value = wide_add(value, scan_slots[lane - distance]);
        barrier();
        scan_slots[lane] = value;
        barrier();
    }
    return value;
}

shared uint no_answer;  // 1: a logit is NaN or +inf, as sampling_top has found

// Key and index of the most probable token.
uvec2 sampling_top(uint count) {
    if (gl_LocalInvocationID.x == 0u) no_answer = 0u;
    barrier();
    bool wrong = false;
    uvec2 best = uvec2(0u, gl_LocalInvocationID.x);
    for (uint i = gl_LocalInvocationID.x; i < count; i += gl_WorkGroupSize.x) {
        uint bits = sampling_bits(i);
        wrong = wrong || bits == 0x7f800000u || (bits & 0x7fffffffu) > 0x7f800000u;
        best = larger(best, uvec2(order_key(bits), i));
    }
    if (wrong) no_answer = 1u;
    barrier();
    return workgroup_largest(best);
}

#ifdef USE_SUBGROUP
// By 16 bits each of the low word: 128 lanes do not overflow.
uvec2 subgroup_sum(uvec2 value) {
    uint low = subgroupAdd(value.x & 0xffffu), middle = subgroupAdd(value.x >> 16) + (low >> 16);
    return uvec2(low & 0xffffu | middle << 16, subgroupAdd(value.y) + (middle >> 16));
}
#endif
uvec2 workgroup_sum(uvec2 value) { WORKGROUP_REDUCE(value, subgroup_sum(value), scan_slots, wide_add) }

// The sum of all weights.
uvec2 sampling_total(Sampling s) {
    uvec2 sum = uvec2(0u);
    for (uint i = gl_LocalInvocationID.x; i < s.count; i += gl_WorkGroupSize.x)
        sum = wide_add(sum, uvec2(sampling_weight(s, sampling_key(i)), 0u));
    return workgroup_sum(sum);
}

// The token in which the weights, added in the order of tokens, pass random / 2^32 of their total. Every invocation
// adds up a piece; the piece that holds the token is cut into pieces in turn.
uint sampling_draw(Sampling s, uint random) {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x, begin = 0u, end = s.count;
    uvec2 target = uvec2(0u);
    for (bool first = true; first || end - begin > 1u; first = false) {
        uint piece = (end - begin + lanes - 1u) / lanes, from = min(begin + lane * piece, end);
        uvec2 sum = uvec2(0u);
        for (uint i = from; i < min(from + piece, end); ++i) sum = wide_add(sum, uvec2(sampling_weight(s, sampling_key(i)), 0u));
        if (lane == 0u) chosen = 0u;
        uvec2 upto = workgroup_scan(sum), before = wide_sub(upto, sum), total = scan_slots[lanes - 1u];
        if (first) target = wide_part(total, random);
        if (!wide_less(target, total)) target = wide_sub(total, uvec2(1u, 0u));  // never: weights do not change
        if (!wide_less(target, before) && wide_less(target, upto)) {
            chosen = lane;
            wanted = wide_sub(target, before);
        }
        barrier();
        begin = min(begin + chosen * piece, end);
        end = min(begin + piece, end);
        target = wanted;
        barrier();
    }
    return begin;
}
