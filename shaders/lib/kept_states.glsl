// Where a state-space layer finds its state and where it leaves it: a state of its own for each lane of the run, or
// with a step a table [sequences * kept, …] (params/kept_states.h). The state before position 0 is zero, and not kept.
#ifndef VANTAGE_KEPT_STATES_GLSL
#define VANTAGE_KEPT_STATES_GLSL
#include "lib/cache.glsl"
#include "params/kept_states.h"

const uint no_row = 0xffffffffu;

// The row of the state before a position; `no_row` where the table is too short.
uint kept_row(uvec2 steps, uint lane, uint kept, uint position) {
    bool regular = position % STATE_EVERY == 0u;
    uint row = regular ? position / STATE_EVERY - 1u : kept - STATE_RECENT + position % STATE_RECENT;
    return regular && row >= kept - STATE_RECENT ? no_row : sequence_of(steps, lane) * kept + row;
}
// The row that a run of a lane begins with, `no_row` for zeros.
uint first_state(uvec2 steps, uint lane, uint kept) {
    if (!present(steps)) return lane;
    uint position = position_of(step_of(steps, lane), 0u);
    return position == 0u ? no_row : kept_row(steps, lane, kept, position);
}
// The row for the state after `done` of the run's `valid` rows, `no_row` where it is not kept.
uint state_after(uvec2 steps, uint lane, uint kept, uint done, uint valid) {
    if (!present(steps)) return done == valid ? lane : no_row;
    uint position = position_of(step_of(steps, lane), done);
    bool wanted = done + STATE_RECENT > valid || position % STATE_EVERY == 0u;
    return wanted && done > 0u ? kept_row(steps, lane, kept, position) : no_row;
}
#endif
