// A pass of attention's gradients (attention/backward.comp has the formulas) by tiles, those of lib/attention_tiles.glsl or
// lib/attention_matrix_tiles.glsl, which the including kernel includes before, behind lib/attention_backward_rows.glsl.
//
// A workgroup owns TILE rows of a head (BY_KEY: keys) with their gradients, and meets the keys (rows) TILE at a time.
// Of the pairs of such two tiles it makes scores and dout · v; then their p and dt are multiplied by the rows that were
// met. Rows beyond the last one are the last one again, and no pair with them is seen.
// Tiles that a causal mask, a window or the bounds of packed documents hide from all rows of the workgroup are skipped.
uvec2 dropout_words() { return row_address(p.stats, F32, p.batch * p.n * p.heads, 2u); }
int position_of(uint i) { return int(i + p.m) - int(p.n); }
vec2 stats_of(uint q_row) { return vec2(ReadFloats(p.stats).at[2u * q_row], ReadFloats(p.stats).at[2u * q_row + 1u]); }

#ifdef BY_KEY
uvec2 pair_at(uint met, uint r, uint c) { return uvec2(met + 4u * lane_x + c, first + 4u * lane_y + r); }
#else
uvec2 pair_at(uint met, uint r, uint c) { return uvec2(first + 4u * lane_y + r, met + 4u * lane_x + c); }  // query, key
#endif

// Applies the rules to the scores of a lane's 16 pairs. A hidden pair gets LOWEST. A loop keeps the pipeline short: the
// rules are long.
void apply_rules(uint met, inout vec4 scores[4]) {
    put_pairs(scores);
    [[dont_unroll]] for (uint i = 0u; i < 16u; ++i) {
        uint at = (4u * lane_y + i / 4u) * PAIR_LINE + lane_x;
        float score = pairs[at][i % 4u];
        if (score <= LOWEST) continue;
        uvec2 pair = pair_at(met, i / 4u, i % 4u);
        int position = position_of(pair.x);
        score = ruled_score(score, batch, batch, head, pair.x, position, pair.y);
        pairs[at][i % 4u] = rules_allow(batch, position, pair.y) ? score : LOWEST;
    }
    get_pairs(scores);
}

// p times the factor of dropout, and dt, of the pairs of the own rows and the met ones at `met`, by own row.
void make_pairs(uint met, uint keys, out vec4 weights[4], out vec4 gradients[4]) {
    multiply(OWN_A, MET_A, met, D);
    vec4 scores[4], slopes[4];
    [[unroll]] for (uint r = 0u; r < 4u; ++r)
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
            uvec2 pair = pair_at(met, r, c);
            bool there = pair.x < p.n && pair.y < keys, seen = p.causal == 0u || int(pair.y) <= position_of(pair.x) || pair.y < PREFIX;
            scores[r][c] = there && seen ? p.scale * products[r][c] : LOWEST;
            float t = SOFTCAP > 0.0 ? stable_tanh(scores[r][c] / SOFTCAP) : 0.0;
            slopes[r][c] = 1.0 - t * t;
        }
    if (RULES) apply_rules(met, scores);
    multiply(OWN_B, MET_B, met, DV);
    vec4 factors[4];  // of dropout, by own row
    vec2 stats[4];    // of the queries: of own rows, or of met ones
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
#ifdef BY_KEY
        uint row = met_row(met + 4u * lane_x + e);
        vec4 of_keys = DROPOUT ? four_kept(dropout_words(), row, first / 4u + lane_y) : vec4(1.0);
        [[unroll]] for (uint r = 0u; r < 4u; ++r) factors[r][e] = of_keys[r];
#else
        uint row = own_row(4u * lane_y + e);
        factors[e] = DROPOUT ? four_kept(dropout_words(), row, met / 4u + lane_x) : vec4(1.0);
#endif
        stats[e] = stats_of(row);
    }
    [[unroll]] for (uint r = 0u; r < 4u; ++r)
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
#ifdef BY_KEY
            vec2 of_row = stats[c];
#else
            vec2 of_row = stats[r];
#endif
            bool hidden = scores[r][c] <= LOWEST || of_row.x <= LOWEST;  // NaN stays
            float weight = hidden ? 0.0 : exp(scores[r][c] - of_row.x);
            weights[r][c] = factors[r][c] * weight;
            gradients[r][c] = hidden ? 0.0 : weight * (factors[r][c] * products[r][c] - of_row.y) * slopes[r][c];
        }
}

void main() {
#ifdef BY_KEY
    uint count = p.m, owners = p.kv_heads;
#else
    uint count = p.n, owners = p.heads;
#endif
    uint blocks = (count + TILE - 1u) / TILE, index = workgroup_index();
    if (index >= p.batch * owners * blocks) return;
    // Workgroups with the most work first, where rows see all keys before them.
    uint block = index / (p.batch * owners), owner = index % owners, group = p.heads / p.kv_heads;
#ifndef BY_KEY
    if (p.causal != 0u) block = blocks - 1u - block;
#endif
    batch = index / owners % p.batch, first = block * TILE;
    uint keys = present(p.kv_len) ? min(ReadWords(p.kv_len).at[batch], p.m) : p.m, end_own = min(first + TILE, count);
#ifdef BY_KEY
    kv_head = owner, met_last = p.n - 1u;
    uint begin = 0u, end = first < keys ? p.n : 0u;
    int own = int(first + p.n) - int(p.m), last_own = int(end_own - 1u + p.n) - int(p.m);  // queries at their positions
    if (p.causal != 0u && first >= PREFIX) begin = uint(max(own, 0));
    if (RULES && GLOBAL == 0u && STRIDE == 0u) {
        if (WINDOW_LEFT != NO_LIMIT) end = min(end, uint(max(last_own + int(WINDOW_LEFT) + 1, 0)));
        if (WINDOW_RIGHT != NO_LIMIT) begin = max(begin, uint(max(own - int(WINDOW_RIGHT), 0)));
    }
    SUMS(sums_b);
    clear(sums_b);
#else
    head = owner, kv_head = owner / group, met_last = max(keys, 1u) - 1u;
    uint begin = 0u, end = keys;
    if (p.causal != 0u) end = min(end, max(uint(max(position_of(end_own - 1u) + 1, 0)), PREFIX));
    if (RULES && GLOBAL == 0u) {
        begin = window_begin(position_of(first));
        end = window_end(position_of(end_own - 1u), end);
    }
#endif
    SUMS(sums_a);
    clear(sums_a);
#ifdef BY_KEY
    for (head = kv_head * group; head < (kv_head + 1u) * group; ++head)
#endif
        for (uint met = begin / TILE * TILE; met < end; met += TILE) {
            uint met_end = min(met + TILE, end);
            vec4 weights[4], gradients[4];
#ifdef BY_KEY
            if (PACKED && !share_documents(batch, position_of(met), position_of(met_end - 1u), first, end_own - 1u)) continue;
            make_pairs(met, keys, weights, gradients);
            put_factors(weights);
            add_pairs(sums_b, MET_B, met, DV);
            barrier();
#else
            if (PACKED && !share_documents(batch, position_of(first), position_of(end_own - 1u), met, met_end - 1u)) continue;
            make_pairs(met, keys, weights, gradients);
#endif
            put_factors(gradients);
            add_pairs(sums_a, MET_A, met, D);
        }
    store_all(sums_a, end_own - first, p.first, D, p.scale);
#ifdef BY_KEY
    store_all(sums_b, end_own - first, p.second, DV, 1.0);
#endif
}
