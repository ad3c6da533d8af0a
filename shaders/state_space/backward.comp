// state_space_backward, the last of six. With E_t = exp(delta_t A), h_t the states made again from that in front of the
// chunk, and l_t the gradient of h_t,
//   l_t = conj(C_t) dy_t + m_t,  m_{t-1} = conj(E_t) l_t,  where m of the chunk's last row comes from behind it:
//   dx_t = D dy_t + delta_t <l_t, B_t>,  ddelta_t = <l_t, B_t x_t + A E_t h_{t-1}>
//   dA = sum_t delta_t conj(E_t h_{t-1}) l_t,  dB = sum delta_t x_t l_t,  dC = sum dy_t conj(h_t)
// <,> are sums over states of the products of real parts and of imaginary ones. B and C that depend on the token have
// sums over channels, others sums over rows.
//
// By channel: an invocation has a channel of a chunk, and runs over its states one after the other. BY_STATE makes dB and
// dC of tokens: an invocation has a state of a chunk and runs over a GROUP of channels.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
STATE_SPACE_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceBackwardParams p; };
#include "lib/state_space.glsl"

// Each invocation keeps its rows in shared memory. Arrays of its own with dynamic indices would spill, or be kept in
// scratch memory.
shared NUMBER before[CHUNK * gl_WorkGroupSize.x];  // h of the row before
uint slot_of(uint r) { return r * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }

// What a state of a channel is at a row.
struct Cell {
    NUMBER b, kept, l;  // kept: E h of the row before
    float delta, x, dy;
};
uint number_at(uint row, uint channel, uint state) { return (BY_TOKEN ? row : channel) * STATES + state; }

void fill_before(uint lane, uint chunk, uint channel, uint state, NUMBER a, uint begin, uint end) {
    NUMBER h = kept_number(sums_of(p.sums, lane, chunk), channel * STATES + state);
    for (uint r = begin; r < end; ++r) {
        uint row = lane * p.n + r;
        float delta = step_size(p.delta, row, channel), input_step = delta * load(p.x, X_TYPE, row * p.channels + channel);
        before[slot_of(r - begin)] = h;
        h = product(exponential(a * delta), h) + number(p.b, B_TYPE, number_at(row, channel, state)) * input_step;
    }
}
// Moves m, the gradient of the row's state by later rows, to the row before.
Cell cell_of(uint row, uint channel, uint state, NUMBER a, NUMBER h, inout NUMBER m) {
    uint at = row * p.channels + channel, of_state = number_at(row, channel, state);
    Cell cell;
    cell.delta = step_size(p.delta, row, channel);
    cell.x = load(p.x, X_TYPE, at);
    cell.dy = load(p.dy, X_TYPE, at);
    cell.b = number(p.b, B_TYPE, of_state);
    NUMBER e = exponential(a * cell.delta);
    cell.kept = product(e, h);
    cell.l = conjugate(number(p.c, B_TYPE, of_state)) * cell.dy + m;
    m = product(conjugate(e), cell.l);
    return cell;
}
NUMBER by_b(Cell cell) { return cell.l * (cell.delta * cell.x); }
NUMBER by_c(Cell cell) { return conjugate(cell.kept + cell.b * (cell.delta * cell.x)) * cell.dy; }

#ifdef BY_STATE
shared NUMBER db[CHUNK * gl_WorkGroupSize.x], dc[CHUNK * gl_WorkGroupSize.x];

void main() {
    uint groups = (p.channels + GROUP - 1u) / GROUP, state = invocation_index() % STATES;
    uint group = invocation_index() / STATES % groups, part = invocation_index() / STATES / groups;
    uint lane = part / p.chunks, chunk = part % p.chunks, begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    if (lane >= p.lanes) return;
    for (uint r = 0u; r < CHUNK; ++r) db[slot_of(r)] = dc[slot_of(r)] = NUMBER(0.0);
    for (uint channel = group * GROUP; channel < min((group + 1u) * GROUP, p.channels); ++channel) {
        NUMBER a = rate(number(p.a, A_TYPE, channel * STATES + state));
        fill_before(lane, chunk, channel, state, a, begin, end);
        NUMBER m = kept_number(sums_of(p.sums_after, lane, chunk), channel * STATES + state);
        for (uint r = end; r > begin; --r) {
            uint slot = slot_of(one_before(r) - begin);
            Cell cell = cell_of(lane * p.n + one_before(r), channel, state, a, before[slot], m);
            db[slot] += by_b(cell);
            dc[slot] += by_c(cell);
        }
    }
    for (uint r = begin; r < end; ++r) {
        uint row = (group * p.lanes + lane) * p.n + r;
        put(row_address(p.db, F32, row, STATES * PARTS), state, db[slot_of(r - begin)]);
        put(row_address(p.dc, F32, row, STATES * PARTS), state, dc[slot_of(r - begin)]);
    }
}
#else
shared float dx[CHUNK * gl_WorkGroupSize.x], ddelta[CHUNK * gl_WorkGroupSize.x];

void run_state(uint lane, uint chunk, uint channel, uint state, uint begin, uint end) {
    uint i = channel * STATES + state, part = lane * p.chunks + chunk;
    NUMBER a = rate(number(p.a, A_TYPE, i)), da = NUMBER(0.0), db = da, dc = da;
    fill_before(lane, chunk, channel, state, a, begin, end);
    NUMBER m = kept_number(sums_of(p.sums_after, lane, chunk), i);
    for (uint r = end; r > begin; --r) {
        uint slot = slot_of(one_before(r) - begin);
        Cell cell = cell_of(lane * p.n + one_before(r), channel, state, a, before[slot], m);
        float by_input = dot(cell.l, cell.b);
        dx[slot] += cell.delta * by_input;
        ddelta[slot] += cell.x * by_input + dot(cell.l, product(a, cell.kept));
        da += product(conjugate(cell.kept), cell.l) * cell.delta;
        db += by_b(cell);
        dc += by_c(cell);
    }
    if (LOGARITHM) da = by_logarithm(da, a);
    put(state_row(p.da, part), i, da);
    if (BY_TOKEN) return;
    put(state_row(p.db, part), i, db);
    put(state_row(p.dc, part), i, dc);
}

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks, begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    if (lane >= p.lanes || channel >= p.channels) return;
    float skip = present(p.d) ? load(p.d, D_TYPE, channel) : 0.0;
    for (uint r = begin; r < end; ++r) {
        dx[slot_of(r - begin)] = skip * load(p.dy, X_TYPE, (lane * p.n + r) * p.channels + channel);
        ddelta[slot_of(r - begin)] = 0.0;
    }
    for (uint state = 0u; state < STATES; ++state) run_state(lane, chunk, channel, state, begin, end);
    for (uint r = begin; r < end; ++r) {
        uint at = (lane * p.n + r) * p.channels + channel;
        float slope = SOFTPLUS ? sigmoid(load(p.delta, DELTA_TYPE, BY_TOKEN ? at : channel)) : 1.0;
        store(p.dx, X_TYPE, at, dx[slot_of(r - begin)]);
        Floats(p.ddelta).at[at] = slope * ddelta[slot_of(r - begin)];
    }
}
#endif
