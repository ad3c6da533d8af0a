// The gradients of a diagonal state space. With E_t = exp(Δ_t A) and l_t = ∂loss/∂h_t, which runs back over the tokens:
//   l_t = conj(C_t) dy_t + m_t,  m_{t-1} = conj(E_t) l_t,  m of the last token = the gradient of the state behind it
//   dx_t = D dy_t + Δ_t <l_t, B_t>,  dΔ_t = <l_t, B_t x_t + A E_t h_{t-1}>,  dA = Σ_t Δ_t conj(E_t h_{t-1}) l_t
//   dB = Σ Δ_t x_t l_t,  dC = Σ dy_t conj(h_t)
// <a, b> = Σ_j Re a_j Re b_j + Im a_j Im b_j. In chunks of 32 tokens, as the forward pass: states are not stored, but
// made again from that in front of each chunk (Gu & Dao 2023, appendix D), and m is scanned from the last chunk back.
// Sums over tokens have a part for each chunk; those over the channels, where B and C depend on the token, one for each
// 32 channels. column_sums adds the parts up.
#include <algorithm>
#include <cmath>
#include <complex>

#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/state_space.h"
#include "shaders/params/activation.h"
#include "shaders/params/state_space.h"

namespace vantage::internal::ops::state_space_backward {
namespace {

constexpr std::int64_t chunk_tokens = 32, group_channels = 32, max_states = 1024;

struct Sizes {
    std::int64_t lanes, n, channels, states;
    bool complex, by_token, batch;
    std::int64_t parts() const { return complex ? 2 : 1; }
    std::int64_t chunks() const { return std::max<std::int64_t>(1, (n + chunk_tokens - 1) / chunk_tokens); }
    std::int64_t groups() const { return (channels + group_channels - 1) / group_channels; }
    std::int64_t sums() const { return lanes * chunks() * channels * (states * parts() + 1); }
    Shape numbers(std::vector<std::int64_t> sizes) const {
        if (complex) sizes.push_back(2);
        return Shape(sizes);
    }
    Shape state() const {
        return numbers(batch ? std::vector{lanes, channels, states} : std::vector{channels, states});
    }
};
Sizes sizes_of(const OpCall& call) {
    const Shape &x = call.in(x_).shape, &a = call.in(a_).shape;
    return {.lanes = x.rank() == 3 ? x[0] : 1,
            .n = x[-2],
            .channels = x[-1],
            .states = a[1],
            .complex = a.rank() == 3,
            .by_token = call.in(delta_).shape.rank() > 1,
            .batch = x.rank() == 3};
}

void check(const OpCall& call) {
    require_floats(call);
    const TensorType &x = call.in(x_), &a = call.in(a_);
    call.require(x.shape.rank() == 2 || x.shape.rank() == 3,
                 operand_is(call, x_) + ", but must be [n, channels] or [B, n, channels]");
    call.require(
        (a.shape.rank() == 2 || (a.shape.rank() == 3 && a.shape[2] == 2)) && a.shape[0] == x.shape[-1],
        operand_is(call, a_) + ", but must be [channels, states], or complex [channels, states, 2]; x is " + x.text());
    const Sizes s = sizes_of(call);
    call.require(s.states >= 1 && s.states <= max_states && s.channels >= 1,
                 operand_is(call, a_) + ", but there must be a channel and 1 to 1024 states");
    call.require(x.shape.elements() < std::int64_t{1} << 31 && s.sums() < std::int64_t{1} << 31 &&
                     s.groups() * s.lanes * s.n * s.states * s.parts() < std::int64_t{1} << 31,
                 operand_is(call, x_) + ", but x and its sums must have less than 2^31 numbers");
    static_cast<void>(call.in(dy_));
    require_type(call, dy_, x);
    require_shape(call, delta_, s.by_token ? x.shape : Shape{s.channels});
    std::vector<std::int64_t> rows{s.channels};
    if (s.by_token) rows.assign(x.shape.sizes().begin(), x.shape.sizes().end() - 1);
    rows.push_back(s.states);
    require_shape(call, b_, s.numbers(rows));
    require_type(call, c_, {s.numbers(rows), call.in(b_).dtype});
    require_shape(call, d_, {s.channels});
    for (const int i : {state_, dlast_}) require_type(call, i, {s.state(), DType::f32});
}

std::vector<TensorType> infer(const OpCall& call) {
    check(call);
    const Sizes s = sizes_of(call);
    const TensorType by_chunk{s.numbers({s.lanes * s.chunks(), s.channels, s.states}), DType::f32},
        by_group{s.numbers({s.groups(), s.lanes * s.n, s.states}), DType::f32};
    const TensorType& of_b = s.by_token ? by_group : by_chunk;
    std::vector<TensorType> results{call.in(x_), {Shape{s.lanes * s.n, s.channels}, DType::f32}, by_chunk, of_b, of_b};
    if (s.by_token) results[ddelta_].shape = call.in(x_).shape;
    if (call.has(state_)) results.push_back({s.state(), DType::f32});
    return results;
}

using Number = std::complex<double>;
Number number(const HostTensor& tensor, std::int64_t i, bool complex) {
    return complex ? Number(tensor[2 * i], tensor[2 * i + 1]) : Number(tensor[i]);
}
void add_to(HostTensor& tensor, std::int64_t i, bool complex, Number value) {
    tensor[complex ? 2 * i : i] += value.real();
    if (complex) tensor[2 * i + 1] += value.imag();
}
double pairing(Number a, Number b) { return a.real() * b.real() + a.imag() * b.imag(); }

// One state of a channel of a lane: forwards, and back.
void run_state(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out, std::int64_t lane,
               std::int64_t channel, std::int64_t j) {
    const Sizes s = sizes_of(call);
    const bool softplus = call.attrs.flag("softplus"), log_a = call.attrs.flag("log_a");
    const std::int64_t own = channel * s.states + j, kept = lane * s.channels * s.states + own;
    Number a = number(in[a_], own, s.complex), m = call.has(dlast_) ? number(in[dlast_], kept, s.complex) : 0;
    if (log_a) a.real(-std::exp(a.real()));
    const auto cell_of = [&](std::int64_t r) { return (lane * s.n + r) * s.channels + channel; };
    const auto given = [&](std::int64_t r) { return in[delta_][s.by_token ? cell_of(r) : channel]; };
    const auto delta_of = [&](std::int64_t r) {
        return softplus ? activation_value(ACTIVATION_SOFTPLUS, given(r)) : given(r);
    };
    const auto of = [&](std::int64_t r) { return (s.by_token ? lane * s.n + r : channel) * s.states + j; };
    std::vector<Number> h{call.has(state_) ? number(in[state_], kept, s.complex) : 0};
    for (std::int64_t r = 0; r < s.n; ++r)
        h.push_back(std::exp(delta_of(r) * a) * h.back() +
                    delta_of(r) * in[x_][cell_of(r)] * number(in[b_], of(r), s.complex));
    for (std::int64_t r = s.n - 1; r >= 0; --r) {
        const double delta = delta_of(r), x = in[x_][cell_of(r)], dy = in[dy_][cell_of(r)],
                     slope = softplus ? activation_slope(ACTIVATION_SOFTPLUS, given(r), 1) : 1;
        const Number e = std::exp(delta * a), left = e * at(h, r), b = number(in[b_], of(r), s.complex),
                     l = std::conj(number(in[c_], of(r), s.complex)) * dy + m;
        const std::int64_t part = (lane * s.chunks() + r / chunk_tokens) * s.channels * s.states + own,
                           of_group = (channel / group_channels * s.lanes * s.n + lane * s.n + r) * s.states + j,
                           of_b = s.by_token ? of_group : part;
        out[dx_][cell_of(r)] += delta * pairing(l, b);
        out[ddelta_][cell_of(r)] += slope * pairing(l, b * x + a * left);
        Number da = delta * std::conj(left) * l;
        if (log_a) da.real(da.real() * a.real());
        add_to(out[da_], part, s.complex, da);
        add_to(out[db_], of_b, s.complex, delta * x * l);
        add_to(out[dc_], of_b, s.complex, dy * std::conj(at(h, r + 1)));
        m = std::conj(e) * l;
    }
    if (call.has(state_)) add_to(out[dstate_], kept, s.complex, m);
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    for (std::int64_t i = 0; i < s.lanes * s.n * s.channels && call.has(d_); ++i)
        out[dx_][i] = in[d_][i % s.channels] * in[dy_][i];
    for (std::int64_t lane = 0; lane < s.lanes; ++lane)
        for (std::int64_t channel = 0; channel < s.channels; ++channel)
            for (std::int64_t j = 0; j < s.states; ++j) run_state(call, in, out, lane, channel, j);
}

// The states forwards twice and their gradients back twice; by token both once more.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const double cells = static_cast<double>(s.lanes * s.n * s.channels) * static_cast<double>(s.states);
    return streaming_cost(call, cells * (s.complex ? 4 : 1) * (s.by_token ? 44 : 32));
}

params::StateSpaceBackwardConstants constants_of(const OpCall& call, std::uint32_t lanes) {
    const Sizes s = sizes_of(call);
    params::StateSpaceBackwardConstants constants{.GROUP = u32(group_channels)};
    constants.lanes = lanes;
    constants.X_TYPE = storage_of(call, x_);
    constants.DELTA_TYPE = storage_of(call, delta_);
    constants.A_TYPE = storage_of(call, a_);
    constants.B_TYPE = storage_of(call, b_);
    constants.D_TYPE = storage_of(call, d_);
    constants.STATES = u32(s.states);
    constants.CHUNK = u32(chunk_tokens);
    constants.BY_TOKEN = s.by_token;
    constants.LOGARITHM = call.attrs.flag("log_a");
    constants.SOFTPLUS = call.attrs.flag("softplus");
    constants.SCANNED = true;
    return constants;
}

constexpr Operand sums{Operand::scratch, 0, Operand::reads_writes},
    sums_after{Operand::scratch, 1, Operand::reads_writes};

// The states in front of all chunks, by the first two launches of the forward pass.
Launch forward(const OpCall& call, const Caps& caps, const char* shader, std::int64_t groups) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = shader,
             .spec = constants_of(call, workgroup_size(caps, 64)),
             .operands = {in(x_), in(delta_), in(a_), in(b_), in(c_), in(d_), no_operand, in(state_), no_operand, sums},
             .groups = flat_grid(groups, caps)};
    return l.with(params::StateSpaceParams{
        .n = u32(s.n), .lanes = u32(s.lanes), .channels = u32(s.channels), .chunks = u32(s.chunks())});
}
Launch backward(const OpCall& call, const char* shader, std::uint32_t lanes, std::int64_t groups, const Caps& caps) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = shader,
             .spec = constants_of(call, lanes),
             .operands = {in(x_), in(delta_), in(a_), in(b_), in(c_), in(d_), in(dy_), sums, sums_after, out(dx_),
                          out(ddelta_), out(da_), out(db_), out(dc_)},
             .groups = flat_grid(groups, caps)};
    return l.with(params::StateSpaceBackwardParams{
        .n = u32(s.n), .lanes = u32(s.lanes), .channels = u32(s.channels), .chunks = u32(s.chunks())});
}
Launch backward_scan(const OpCall& call, const Caps& caps, const char* shader) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    Launch l{.shader = shader,
             .spec = constants_of(call, lanes),
             .operands = {in(a_), sums, sums_after, in(dlast_), call.has(state_) ? out(dstate_) : no_operand},
             .groups = flat_grid(ceil_div(s.lanes * s.channels * s.states, lanes), caps)};
    return l.with(params::StateSpaceBackwardScanParams{
        .lanes = u32(s.lanes), .channels = u32(s.channels), .chunks = u32(s.chunks())});
}

// Lanes of a workgroup whose rows of a chunk, each of `floats`, fit into shared memory.
std::uint32_t lanes_with(std::int64_t floats, const Caps& caps) {
    std::uint32_t lanes = workgroup_size(caps, 64);
    while (lanes > 1 && lanes * floats * chunk_tokens * 4 > caps.max_shared_memory) lanes /= 2;
    return lanes;
}

// Launches of one kind share their operands: the sums do not write the results, and where B and C depend on the token
// the pass by channel does not write theirs, nor that by state the others.
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::int64_t parts = s.lanes * s.chunks(), number = s.complex ? 2 : 1;
    const std::uint32_t most_lanes = workgroup_size(caps, 64), lanes = lanes_with(2 + number, caps);  // dx, ddelta, h
    const auto by_channel = [&](std::uint32_t of) { return parts * ceil_div(s.channels, of); };
    require_loops(call, caps, std::max(s.chunks(), std::max(s.states, group_channels) * (2 * chunk_tokens + 1)));
    const auto named = [&](const char* real, const char* complex) { return s.complex ? complex : real; };
    LaunchPlan plan;
    plan.scratch.assign(2, static_cast<std::uint64_t>(s.sums()) * 4);
    plan.launches = {
        forward(call, caps, named("state_space_sums", "state_space_sums_complex"), by_channel(most_lanes)),
        forward(call, caps, named("state_space_scan", "state_space_scan_complex"),
                ceil_div(s.lanes * s.channels * s.states, most_lanes)),
        backward(call, named("state_space_backward_sums", "state_space_backward_sums_complex"), most_lanes,
                 by_channel(most_lanes), caps),
        backward_scan(call, caps, named("state_space_backward_scan", "state_space_backward_scan_complex")),
        backward(call, named("state_space_backward", "state_space_backward_complex"), lanes, by_channel(lanes), caps)};
    if (s.by_token) {
        const std::uint32_t state_lanes = lanes_with(3 * number, caps);  // h, db, dc
        plan.launches.push_back(
            backward(call, named("state_space_backward_by_state", "state_space_backward_by_state_complex"), state_lanes,
                     ceil_div(parts * s.groups() * s.states, state_lanes), caps));
    }
    return plan;
}

// Step sizes from 0.01 to 0.5 and decays up to exp(-4): states neither vanish nor grow.
std::vector<Case::Input> inputs(const Shape& x, std::int64_t states, bool complex, bool by_token, bool from_state,
                                bool log_a = false) {
    const std::int64_t channels = x[-1];
    const auto numbers = [&](std::vector<std::int64_t> sizes) {
        if (complex) sizes.push_back(2);
        return Shape(sizes);
    };
    std::vector<std::int64_t> rows{channels}, state{channels, states};
    if (by_token) rows.assign(x.sizes().begin(), x.sizes().end() - 1);
    if (x.rank() == 3) state.insert(state.begin(), x[0]);
    rows.push_back(states);
    const auto between = [](const Shape& shape, double low, double high, bool weight) {
        return Case::Input{
            .type = TensorType{shape}, .fill = Case::Fill::uniform, .low = low, .high = high, .weight = weight};
    };
    const Case::Input kept{.type = only_if(from_state, TensorType{numbers(state)}), .fixed_type = true};
    return {{.type = TensorType{x}, .high = 0.5},
            floats(x),
            between(by_token ? x : Shape{channels}, 0.01, 0.5, !by_token),
            between(numbers({channels, states}), log_a ? -2.0 : -4.0, log_a ? 1.0 : -0.1, true),
            floats(numbers(rows)),
            floats(numbers(rows)),
            weights({channels}),
            kept,
            kept};
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::vector<Case::Input> of, Attrs attrs = {}) {
        list.push_back({.name = name, .attrs = std::move(attrs), .inputs = std::move(of)});
    };
    add("selective n=75, over chunks", inputs({75, 70}, 16, false, true, false));
    add("selective n=64, whole chunks, from a state", inputs({64, 6}, 5, false, true, true));
    add("selective n=7, as Mamba gives it", inputs({7, 66}, 16, false, true, true, true),
        {{"log_a", true}, {"softplus", true}});
    add("selective, a batch, from states", inputs({2, 40, 9}, 20, false, true, true));
    add("selective n=8, a batch as Mamba learns it", inputs({2, 8, 48}, 10, false, true, false, true),
        {{"log_a", true}, {"softplus", true}});
    add("constant n=70", inputs({70, 7}, 18, false, false, false), {{"softplus", true}});
    add("complex, constant n=70", inputs({70, 5}, 11, true, false, false));
    add("complex, constant, from a state", inputs({3, 5}, 8, true, false, true, true), {{"log_a", true}});
    add("complex, selective, a batch", inputs({2, 35, 5}, 9, true, true, true));
    add("one row", inputs({1, 5}, 16, false, true, true));
    add("no rows", inputs({0, 5}, 4, false, true, true));
    std::vector<Case::Input> bare = inputs({5, 3}, 2, false, true, false);
    bare[d_] = {};
    add("without D", bare);
    std::vector<Case::Input> steep = inputs({40, 3}, 4, false, false, true);
    steep[a_] = filled_with(TensorType{Shape{3, 4}}, {-1e4, -300, -1, 0, -1e30, -50, -1e-3, 0, -1, -2, -3, -4});
    steep[delta_] = filled_with(TensorType{Shape{3}}, {0.5, 3, 0});
    for (Case::Input& input : steep) input.fixed_type = true;
    add("steep and flat decays", steep);
    return list;
}

}  // namespace

const OpDef state_space_backward_op = define_op(
    "state_space_backward",
    "the gradients of state_space, by states made again and a scan from the last chunk back (Gu, Dao 2023)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::state_space_backward
