// Where the keys and values of a position lie, and which of them a run may see. The only file that knows the cache's
// form.
#ifndef VANTAGE_CACHE_GLSL
#define VANTAGE_CACHE_GLSL
#include "lib/rows.glsl"

// The row of a state [sequences * context, …] that holds a position of a sequence: a cache in pages begins here.
uint cache_row(uint sequence, uint context, uint position) { return sequence * context + position; }
// The same of a cache [sequences * context, heads, width] seen as [sequences * context * heads, width].
uint cache_head_row(uint sequence, uint context, uint position, uint head, uint heads) {
    return cache_row(sequence, context, position) * heads + head;
}

// From here on `step` is that of one sequence (step_of), n its rows of the run, m the rows of its cache.
// Rows that are real; without a step all n.
uint valid_rows(uvec2 step, uint n) { return present(step) ? min(ReadWords(step).at[STEP_VALID], n) : n; }
// Keys that hold data; without a step all m.
uint valid_keys(uvec2 step, uint m) { return present(step) ? min(ReadWords(step).at[STEP_KEYS], m) : m; }
// Keys that query i sees under a causal mask: those up to its own position. Without a step the mask is aligned
// bottom-right.
uint causal_keys(uvec2 step, uint i, uint n, uint m) {
    if (present(step)) return ReadWords(step).at[STEP_POSITION] + i + 1u;
    return i + 1u + m > n ? i + 1u + m - n : 0u;
}
// Where query i sits among the keys; without a step queries and keys end together.
int query_position(uvec2 step, uint i, uint n, uint m) {
    return present(step) ? int(ReadWords(step).at[STEP_POSITION] + i) : int(i + m) - int(n);
}
#endif
