// The rows that a pass of attention's gradients by tiles owns, and those that it meets: queries and keys, or with BY_KEY
// keys and queries. `a` has D features (k, or q of the rows), `b` has DV (v, or dout of the rows). The including kernel
// has declared its constants.
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
