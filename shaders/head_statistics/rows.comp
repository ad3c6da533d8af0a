// What each row of a head does, in numbers (params/head_statistics.h): sums over its weights p_ij, and the largest of
// them.
//
// One workgroup per row of a head; lanes stride over the keys, and each weight is made once and forgotten: nothing
// grows with the square of the sequence. Then every number has a lane that joins the parts of all lanes, in their
// order.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/head_weights.glsl"

// Weights with their keys, as integers: those of positive floats are in the same order.
const uvec2 NONE = uvec2(0u, NO_LIMIT);
bool is_larger(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y); }

// What a lane has so far, in shared memory: as arrays of registers they are too much for some devices. Of the weights
// with their keys the largest, the largest copy, and the links.
shared float sums[ROW_SUMS * gl_WorkGroupSize.x];
shared uvec2 reads[(2 + ROW_LINK_COUNT) * gl_WorkGroupSize.x];
const uint LARGEST = 0u, COPY = 1u, LINKS = 2u;

uint slot(uint number) { return number * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
void add(uint number, float value) { sums[slot(number)] += value; }
void take_larger(uint number, uvec2 read) {
    if (is_larger(read, reads[slot(number)])) reads[slot(number)] = read;
}
// Into its place among the links, the smallest of which goes.
void take_link(uvec2 link) {
    if (!is_larger(link, reads[slot(LINKS + ROW_LINK_COUNT - 1u)])) return;
    for (uint i = LINKS; i < LINKS + ROW_LINK_COUNT; ++i) {
        uvec2 other = reads[slot(i)];
        if (!is_larger(link, other)) continue;
        reads[slot(i)] = link;
        link = other;
    }
}

// What needs an order of the tokens. Whether the key is one that COPIED counts.
bool take_in_line(int distance, uint row, uint key, float weight) {
    bool same = token_id(key) == token_id(row), follows = key > 0u && token_id(max(key, 1u) - 1u) == token_id(row);
    if (distance == 1) add(ROW_PREVIOUS, weight);
    if (distance == -1) add(ROW_NEXT, weight);
    if (same && distance > 0) add(ROW_DUPLICATE, weight);
    if (follows && distance >= 0) add(ROW_INDUCTION, weight);
    if (same && distance > 2) add(ROW_REPEATED, weight);
    if (follows && distance > 1) add(ROW_COPIED, weight);
    return follows && distance > 1;
}

void take(uint row, uint key, float weight) {
    const float negligible = 1.0e-37;  // whose logarithm a device may take for that of 0
    float distance = distance_between(row, key);
    add(ROW_TOTAL, weight);
    add(ROW_VISIBLE, 1.0);
    add(ROW_ENTROPY, weight < negligible ? 0.0 : -weight * log(weight));
    if (distance < NOWHERE) {
        add(ROW_DISTANCE, weight * distance);
        add(ROW_SQUARED, weight * distance * distance);
    }
    if (in_line()) add(ROW_OFFSET, weight * (float(key) - float(row)));
    if (distance <= float(NEAR_KEYS)) add(ROW_NEAR, weight);
    if (distance == 0.0) add(ROW_SELF, weight);
    if (key == 0u) add(ROW_FIRST, weight);
    if (has_mark(key, MARK_DELIMITER)) add(ROW_DELIMITERS, weight);
    bool copies = in_line() && take_in_line(int(row) - int(key), row, key, weight);
    uvec2 read = uvec2(floatBitsToUint(weight), key);
    if (!(weight > 0.0)) return;
    take_larger(LARGEST, read);
    if (copies) take_larger(COPY, read);
    if (is_far(row, key) && has_mark(query_token(row), MARK_WORD) && has_mark(key, MARK_WORD)) take_link(read);
}

uvec2 joined(uint place) {
    uvec2 best = NONE;
    for (uint i = 0u; i < gl_WorkGroupSize.x; ++i) {
        uvec2 other = reads[place * gl_WorkGroupSize.x + i];
        if (is_larger(other, best)) best = other;
    }
    return best;
}
void write_read(uint at, uvec2 read) {
    Floats(p.result).at[at] = uintBitsToFloat(read.x);
    Floats(p.result).at[at + 1u] = read == NONE ? -1.0 : float(read.y);
}

void main() {
    uint lane = gl_LocalInvocationID.x, at = workgroup_index();
    if (at >= p.rows * p.heads) return;
    uint head = at % p.heads, row = p.first_row + at / p.heads, end = window_end(int(row), p.keys);
    if (p.causal != 0u) end = min(end, max(row + 1u, PREFIX));
    for (uint i = 0u; i < ROW_SUMS; ++i) sums[slot(i)] = 0.0;
    for (uint i = 0u; i < LINKS + ROW_LINK_COUNT; ++i) reads[slot(i)] = NONE;
    for (uint key = (GLOBAL == 0u ? window_begin(int(row)) : 0u) + lane; key < end; key += gl_WorkGroupSize.x) {
        TappedWeight weight = weight_of(head, row, key);
        if (weight.seen) take(row, key, weight.value);
    }
    barrier();
    uint first = at * ROW_NUMBERS;
    if (lane < ROW_SUMS) {
        float sum = 0.0;
        for (uint i = 0u; i < gl_WorkGroupSize.x; ++i) sum += sums[lane * gl_WorkGroupSize.x + i];
        Floats(p.result).at[first + lane] = sum;
    }
    if (lane == ROW_SUMS) write_read(first + ROW_LARGEST, joined(LARGEST));
    if (lane == ROW_SUMS + 1) write_read(first + ROW_COPY, joined(COPY));
    if (lane != ROW_SUMS + 2) return;
    // those of the other lanes, into this lane's own
    for (uint i = 0u; i < ROW_LINK_COUNT; ++i)
        for (uint other = 0u; other < gl_WorkGroupSize.x; ++other)
            if (other != lane) take_link(reads[(LINKS + i) * gl_WorkGroupSize.x + other]);
    for (uint i = 0u; i < ROW_LINK_COUNT; ++i) write_read(first + ROW_LINKS + 2u * i, reads[slot(LINKS + i)]);
}
