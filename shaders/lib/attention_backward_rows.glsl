// Rows of the tiled kernels of attention's gradients. A workgroup owns some queries and iterates over (meets) keys; with
// BY_KEY it owns keys and meets queries. `a` is k or q, with D features; `b` is v or dout, with DV features. The
// including kernel declares the constants before.
layout(push_constant) uniform Push { AttentionBackwardParams p; };
#include "lib/attention_rules.glsl"
#include "lib/index.glsl"
#include "lib/dropout.glsl"

#ifdef BY_KEY
#define OWN_TYPE KV_TYPE
#define MET_TYPE Q_TYPE
#define OWN_A p.k
#define OWN_B p.v
#define MET_A p.q
#define MET_B p.dout
#else
#define OWN_TYPE Q_TYPE
#define MET_TYPE KV_TYPE
#define OWN_A p.q
#define OWN_B p.dout
#define MET_A p.k
#define MET_B p.v
#endif

uint batch, head, kv_head, first, met_last;  // the first of the own rows; the last row that can be met

uint row_of_query(uint i) {
    return p.heads_first != 0u ? (batch * p.heads + head) * p.n + i : (batch * p.n + i) * p.heads + head;
}
uint row_of_key(uint key) {
    return p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : (batch * p.m + key) * p.kv_heads + kv_head;
}
#ifdef BY_KEY
uint own_row(uint line) { return row_of_key(min(first + line, p.m - 1u)); }
uint met_row(uint place) { return row_of_query(min(place, met_last)); }
#else
uint own_row(uint line) { return row_of_query(min(first + line, p.n - 1u)); }
uint met_row(uint place) { return row_of_key(min(place, met_last)); }
#endif
