// Rows of a workgroup of attention and the keys they see. A workgroup takes ROWS rows of one key head: queries and,
// with grouped heads, the heads that share it. Where keys are seen at multiples of a distance, its queries are of one
// residue class, and it walks the keys of that class alone.
//
// The including kernel declares ROWS, SPLIT (keys per workgroup, 0 = all), D, and its AttentionParams as p.
#include "lib/attention_rules.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

uint group = p.heads / p.kv_heads;  // query heads per key head
// A split run has a grid of (splits, blocks of rows, heads and batches); another a flat one of heads, batches and
// blocks, those of one class after each other.
const uint CLASSES = PART == PART_ALL && STRIDE > 0u ? 1u : PART == PART_FAR ? (SUMMARY_KEYS > 0u ? 1u : STRIDE) : DILATION;
uint classes = CLASSES == 1u ? 1u : max(1u, min(CLASSES, p.n));  // that have queries
uint blocks_of_class = max(1u, ((p.n + classes - 1u) / classes * group + ROWS - 1u) / ROWS);
uint blocks = classes * blocks_of_class;
uint block = SPLIT > 0u ? gl_WorkGroupID.y : workgroup_index() % blocks;
uint head_and_batch = SPLIT > 0u ? gl_WorkGroupID.z : workgroup_index() / blocks;
uint kv_head = head_and_batch % p.kv_heads, batch = head_and_batch / p.kv_heads;
uvec2 steps = DROPOUT ? uvec2(0u) : p.step;
uint sequence = sequence_of(steps, batch);
uvec2 own_step = step_of(steps, batch);

// Row r of this workgroup is query `query_of(r)` of head `head_of(r)`; rows beyond the last one are idle.
uint own_class = block / blocks_of_class;
uint flat_row(uint r) { return block % blocks_of_class * ROWS + r; }
uint query_of(uint r) { return flat_row(r) / group * classes + own_class; }
uint head_of(uint r) { return kv_head * group + flat_row(r) % group; }
uint result_row(uint r) {
    return p.heads_first != 0u ? (batch * p.heads + head_of(r)) * p.n + query_of(r) : (batch * p.n + query_of(r)) * p.heads + head_of(r);
}
// Where a row's partial sums go: those of all splits of the near keys, then those of the far ones.
const bool PARTIAL = SPLIT > 0u || PART != PART_ALL;
uint partial_slot(uint row) {
    uint split = SPLIT > 0u ? gl_WorkGroupID.x : 0u, splits = SPLIT > 0u ? (p.m + SPLIT - 1u) / SPLIT : 1u;
    return (split + (PART == PART_FAR ? splits : 0u)) * (p.batch * p.n * p.heads) + row;
}
uint key_row(uint key) {
    uint part = KEYS_BY_LANE ? batch : sequence;
    return p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : cache_head_row(part, p.m, key, kv_head, p.kv_heads);
}

// Rows of this workgroup that belong to the first `queries` queries; they come before its others.
uint rows_among(uint queries) {
    uint rows = (queries + classes - 1u - min(queries + classes - 1u, own_class)) / classes * group;
    return min(ROWS, rows - min(rows, flat_row(0u)));
}

int position_of(uint r) { return query_position(own_step, query_of(r), p.n, p.m); }

// Keys have places in the order in which they are walked: the global ones, then those of the class. A workgroup with a
// global row walks all keys, one for the far keys of summaries those of each block.
const bool SUMMARIES = PART == PART_FAR && SUMMARY_KEYS > 0u, EVERY_KEY = CLASSES == 1u && !SUMMARIES;
const uint HEAD = PART == PART_FAR ? 0u : GLOBAL;
uint apart = CLASSES == 1u || HEAD > 0u && position_of(0u) < int(HEAD) ? 1u : CLASSES;
uint first_of_class() {  // from HEAD on
    int i = position_of(0u);
    uint residue = i < 0 ? (apart - uint(-i) % apart) % apart : uint(i) % apart;
    return HEAD + (residue + apart - HEAD % apart) % apart;
}
uint after_head = first_of_class();
uint key_at(uint place) {
    if (EVERY_KEY) return place;
    if (SUMMARIES) return place / SUMMARY_KEYS * STRIDE + STRIDE - SUMMARY_KEYS + place % SUMMARY_KEYS;
    return place < HEAD ? place : after_head + (place - HEAD) * apart;
}
// Keys of the walk before this one.
uint place_of(uint key) {
    if (EVERY_KEY) return key;
    if (SUMMARIES) return key / STRIDE * SUMMARY_KEYS + max(key % STRIDE, STRIDE - SUMMARY_KEYS) - (STRIDE - SUMMARY_KEYS);
    return key <= HEAD ? key : HEAD + (max(key, after_head) - after_head + apart - 1u) / apart;
}

// Places that row r sees: [0, visible).
uint visible(uint r, uint rows_valid, uint keys_valid) {
    uint i = query_of(r);
    if (i >= rows_valid) return 0u;
    uint end = p.causal != 0u ? min(keys_valid, max(causal_keys(own_step, i, p.n, p.m), PREFIX)) : keys_valid;
    return place_of(RULES ? window_end(position_of(r), end) : end);
}

// Whether the block mask and packed documents show a key of the places [first, end) to one of the rows up to `last`; a
// walk that leaves out keys does not ask.
bool tile_is_shown(uint first, uint end, uint last) {
    if (!EVERY_KEY) return true;
    if (PACKED && !share_documents(sequence, position_of(0u), position_of(last), first, end - 1u)) return false;
    if (BLOCK == 0u) return true;
    int from = max(position_of(0u), 0), to = min(position_of(last), int(p.m) - 1);
    for (int i = from / int(BLOCK) * int(BLOCK); i <= to; i += int(BLOCK))
        for (uint key = first / BLOCK * BLOCK; key < end; key += BLOCK)
            if (times_seen(sequence, i, key) > 0) return true;
    return false;
}

// Keys that hold data for this workgroup's sequence. p.m is read outside of the branches: inside of them, RADV's
// compiler no longer flattens the branch of each key's row, and waits for each load of a value.
uint keys_there() {
    const uint keys = valid_keys(own_step, p.m);
    return present(p.kv_len) ? min(p.m, uint(max(int(ReadWords(p.kv_len).at[sequence]), 0))) : keys;
}
