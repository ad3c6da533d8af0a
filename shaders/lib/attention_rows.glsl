// Rows of a workgroup of attention and the keys they see. A workgroup takes ROWS rows of one key head: queries and,
// with grouped heads, the heads that share it.
//
// The including kernel declares ROWS, SPLIT (keys per workgroup, 0 = all), D, and its AttentionParams as p.
#include "lib/attention_rules.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

uint group = p.heads / p.kv_heads;  // query heads per key head
// A split run has a grid of (splits, blocks of rows, heads and batches); another a flat one of heads, batches and
// blocks.
uint blocks = max(1u, (p.n * group + ROWS - 1u) / ROWS);
uint block = SPLIT > 0u ? gl_WorkGroupID.y : workgroup_index() % blocks;
uint head_and_batch = SPLIT > 0u ? gl_WorkGroupID.z : workgroup_index() / blocks;
uint kv_head = head_and_batch % p.kv_heads, batch = head_and_batch / p.kv_heads;
uint sequence = sequence_of(p.step, batch);
uvec2 own_step = step_of(p.step, batch);

// Row r of this workgroup is query `query_of(r)` of head `head_of(r)`; rows beyond the last one are idle.
uint flat_row(uint r) { return block * ROWS + r; }
uint query_of(uint r) { return flat_row(r) / group; }
uint head_of(uint r) { return kv_head * group + flat_row(r) % group; }
uint result_row(uint r) {
    return p.heads_first != 0u ? (batch * p.heads + head_of(r)) * p.n + query_of(r) : (batch * p.n + query_of(r)) * p.heads + head_of(r);
}
uint key_row(uint key) {
    return p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : cache_head_row(sequence, p.m, key, kv_head, p.kv_heads);
}

// Keys that row r sees: [0, visible).
uint visible(uint r, uint rows_valid, uint keys_valid) {
    uint i = query_of(r);
    if (i >= rows_valid) return 0u;
    uint end = p.causal != 0u ? min(keys_valid, max(causal_keys(own_step, i, p.n, p.m), PREFIX)) : keys_valid;
    return RULES ? window_end(query_position(own_step, i, p.n, p.m), end) : end;
}

// Keys that hold data for this workgroup's sequence. p.m is read outside of the branches: inside of them, RADV's
// compiler no longer flattens the branch of each key's row, and waits for each load of a value.
uint keys_there() {
    const uint keys = valid_keys(own_step, p.m);
    return present(p.kv_len) ? min(p.m, uint(max(int(ReadWords(p.kv_len).at[sequence]), 0))) : keys;
}
