// Rows of tensors that may be larger than 2^32 bytes (embedding tables, caches), and the rows of steps.
#ifndef VANTAGE_ROWS_GLSL
#define VANTAGE_ROWS_GLSL
#include "lib/storage.glsl"
#include "params/step.h"

// Where a row begins: element `begin` from `address`. A 16-bit row of odd width may begin in the middle of a word, so
// addresses are those of even rows, which begin on one. Quantised rows may begin within a group: they count from the
// tensor's begin, which is enough for 2^31 elements.
struct Row {
    uvec2 address;
    uint begin;
};
Row row_of(uvec2 address, uint type, uint row, uint cols) {
    if (is_quantized(type)) return Row(address, row * cols);
    return Row(row_address(address, type, row & ~1u, cols), (row & 1u) * cols);
}

// A run has lanes, each with as many rows, one lane after the other. A lane works for one sequence, whose step and
// states it uses.
uint sequence_of(uvec2 steps, uint lane) {
    return present(steps) ? lane + ReadWords(row_address(steps, F32, lane, STEP_WORDS)).at[STEP_SHIFT] : lane;
}
uvec2 step_of(uvec2 steps, uint lane) { return present(steps) ? row_address(steps, F32, sequence_of(steps, lane), STEP_WORDS) : steps; }
// Row r that the run has of a sequence sits at this position; without a step row 0 is the first.
uint position_of(uvec2 step, uint r) { return present(step) ? ReadWords(step).at[STEP_POSITION] + r : r; }
// Whether row r is a token and no padding.
bool is_valid(uvec2 step, uint r) { return !present(step) || r < ReadWords(step).at[STEP_VALID]; }
#endif
