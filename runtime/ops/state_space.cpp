// A diagonal state space of each channel, a linear recurrence over the tokens:
//   h_t = exp(Δ_t A) ∘ h_{t-1} + Δ_t B_t x_t,  y_t = Re(C_t · h_t) + D x_t
// A is real or complex and stays; Δ, B and C depend on the token (Mamba: Gu & Dao 2023) or do not (S4D: Gu, Gupta,
// Goel & Ré 2022). As a scan by chunks of 32 tokens: what each chunk makes of zeros, what all chunks before it leave,
// then every chunk from there. A run of one chunk is one launch.
#include "runtime/ops/state_space.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/kept_states.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/activation.h"
#include "shaders/params/state_space.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::state_space {
namespace {

using state_space_cached::step_;

constexpr std::int64_t chunk_tokens = 32, max_states = 1024;

struct Sizes {
    std::int64_t lanes, n, channels, states;
    bool complex, by_token;
    std::int64_t parts() const { return complex ? 2 : 1; }
    std::int64_t chunks() const { return std::max<std::int64_t>(1, (n + chunk_tokens - 1) / chunk_tokens); }
    std::int64_t sums() const { return lanes * chunks() * channels * (states * parts() + 1); }
    Shape numbers(std::vector<std::int64_t> sizes) const {
        if (complex) sizes.push_back(2);
        return Shape(sizes);
    }
};
Sizes sizes_of(const OpCall& call) {
    const Shape &x = call.in(x_).shape, &a = call.in(a_).shape;
    const std::int64_t lanes = call.has(step_) ? sequences_of(call, step_) : x.rank() == 3 ? x[0] : 1;
    return {.lanes = lanes,
            .n = call.has(step_) ? rows_of_each(call, x_, step_) : x[-2],
            .channels = x[-1],
            .states = a[1],
            .complex = a.rank() == 3,
            .by_token = call.in(delta_).shape.rank() > 1};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call, step_);
    require_step(call, step_);
    const TensorType &x = call.in(x_), &a = call.in(a_);
    call.require(x.shape.rank() == 2 || (x.shape.rank() == 3 && !call.has(step_)),
                 operand_is(call, x_) + ", but must be [n, channels]" +
                     (call.has(step_) ? "" : ", or of a batch [B, n, channels]"));
    call.require(
        (a.shape.rank() == 2 || (a.shape.rank() == 3 && a.shape[2] == 2)) && a.shape[0] == x.shape[-1],
        operand_is(call, a_) + ", but must be [channels, states], or complex [channels, states, 2]; x is " + x.text());
    const Sizes s = sizes_of(call);
    call.require(s.states >= 1 && s.states <= max_states && s.channels >= 1,
                 operand_is(call, a_) + format(", but there must be a channel and 1 to {} states", max_states));
    call.require(x.shape.elements() < std::int64_t{1} << 31 && s.sums() < std::int64_t{1} << 31,
                 operand_is(call, x_) + ", but x and the states of its chunks must have less than 2^31 numbers");
    require_shape(call, delta_, s.by_token ? x.shape : Shape{s.channels});
    std::vector<std::int64_t> rows{s.channels};
    if (s.by_token) rows.assign(x.shape.sizes().begin(), x.shape.sizes().end() - 1);
    rows.push_back(s.states);
    require_shape(call, b_, s.numbers(rows));
    require_type(call, c_, {s.numbers(rows), call.in(b_).dtype});
    require_shape(call, d_, {s.channels});
    const Shape one = s.numbers({s.channels, s.states});
    if (call.has(step_)) {
        require_kept_states(call, state_, step_, one);
        return {x, call.in(state_)};
    }
    const TensorType state{x.shape.rank() == 3 ? s.numbers({s.lanes, s.channels, s.states}) : one, DType::f32};
    require_type(call, state_, state);
    return {x, state};
}

using Number = std::complex<double>;

// Number i of a tensor of real or complex ones.
Number number(const HostTensor& tensor, std::int64_t i, bool complex) {
    return complex ? Number(tensor[2 * i], tensor[2 * i + 1]) : Number(tensor[i]);
}

void put(HostTensor& tensor, std::int64_t i, bool complex, Number value) {
    tensor[complex ? 2 * i : i] = value.real();
    if (complex) tensor[2 * i + 1] = value.imag();
}

// One channel of a lane, token by token. The table may be where the state is read from and written to.
void run_channel(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out, std::int64_t lane,
                 std::int64_t channel) {
    const Sizes s = sizes_of(call);
    const KeptStates kept(call, state_, step_);
    const std::int64_t valid = kept.valid(in, lane, s.n), first = kept.first(in, lane), own = channel * s.states,
                       cells = s.channels * s.states;
    std::vector<Number> h(static_cast<std::size_t>(s.states)), a = h;
    for (std::int64_t j = 0; j < s.states; ++j) {
        at(a, j) = number(in[a_], own + j, s.complex);
        if (call.attrs.flag("log_a")) at(a, j) = {-std::exp(at(a, j).real()), at(a, j).imag()};
        if (first >= 0 && call.has(state_)) at(h, j) = number(in[state_], first * cells + own + j, s.complex);
    }
    const auto keep = [&](std::int64_t row) {
        for (std::int64_t j = 0; j < s.states && row >= 0; ++j)
            put(out[new_state_], row * cells + own + j, s.complex, at(h, j));
    };
    if (s.n == 0) keep(kept.after(in, lane, 0, 0));
    for (std::int64_t r = 0; r < valid; ++r) {
        const std::int64_t row = lane * s.n + r, cell = row * s.channels + channel;
        double delta = in[delta_][s.by_token ? cell : channel], y = call.has(d_) ? in[d_][channel] * in[x_][cell] : 0;
        if (call.attrs.flag("softplus")) delta = activation_value(ACTIVATION_SOFTPLUS, delta);
        for (std::int64_t j = 0; j < s.states; ++j) {
            const std::int64_t of = (s.by_token ? row : channel) * s.states + j;
            at(h, j) = std::exp(delta * at(a, j)) * at(h, j) + delta * in[x_][cell] * number(in[b_], of, s.complex);
            y += (number(in[c_], of, s.complex) * at(h, j)).real();
        }
        out[y_][cell] = y;
        keep(kept.after(in, lane, r + 1, valid));
    }
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    for (std::int64_t lane = 0; lane < s.lanes; ++lane)
        for (std::int64_t channel = 0; channel < s.channels; ++channel) run_channel(call, in, out, lane, channel);
}

// What many rows share has a sum for each of some parts of the rows or channels, and these are added up here.
std::vector<Tensor> gradient(const GradientCall& g) {
    namespace to = ops::state_space_backward;
    const Tensor &x = g.inputs[x_], &state = g.inputs[state_];
    Graph graph = x.graph();
    const Tensor dy = g.gradients[y_] ? g.gradients[y_] : zeros(graph, x.shape(), g.where);
    std::vector<Tensor> operands{dy}, result(state_ + 1);
    operands.insert(operands.end(), g.inputs.begin(), g.inputs.end());
    operands.push_back(g.gradients[new_state_]);
    const std::vector<Tensor> made = add_call(graph, state_space_backward_op, operands, g.call.attrs, g.where);
    const auto sum = [&](int operand, int part) {
        if (at(g.needed, operand))
            at(result, operand) = sum_to(at(g.inputs, operand).shape(), at(made, part), {}, g.where);
    };
    result[x_] = made[to::dx_];
    result[delta_] = made[to::ddelta_];
    if (!sizes_of(g.call).by_token) sum(delta_, to::ddelta_);
    sum(a_, to::da_);
    sum(b_, to::db_);
    sum(c_, to::dc_);
    if (g.needed[d_]) result[d_] = sum_to(g.inputs[d_].shape(), x, dy, g.where);
    if (state) result[state_] = made[to::dstate_];
    return result;
}

Cost cost(const OpCall& call) {  // of tables only the rows that a lane begins and ends with
    const Sizes s = sizes_of(call);
    const double states = static_cast<double>(s.channels * s.states), lanes = static_cast<double>(s.lanes),
                 rows = lanes * static_cast<double>(s.n);
    Cost all = streaming_cost(call, rows * states * (s.complex ? 24 : 8));
    const double state = lanes * states * static_cast<double>(4 * s.parts());
    if (call.has(state_)) all.bytes_read += state - static_cast<double>(call.in(state_).bytes());
    all.bytes_written += state - static_cast<double>(call.out(new_state_).bytes());
    return all;
}

// The launches share their operands: the first two write neither y nor the state, and a run of one chunk has no sums.
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const bool cached = call.has(step_), scanned = s.chunks() > 1;
    const Operand old_state = cached ? update(new_state_) : in(state_),
                  new_state = cached ? update(new_state_) : out(new_state_),
                  sums = scanned ? Operand{Operand::scratch, 0, Operand::reads_writes} : new_state;
    std::vector<Operand> operands{in(x_), in(delta_), in(a_),    in(b_),    in(c_),
                                  in(d_), out(y_),    old_state, new_state, sums};
    if (cached) operands.push_back(in(step_));
    const std::uint32_t lanes = workgroup_size(caps, 64);
    const params::StateSpaceConstants constants{.lanes = lanes,
                                                .X_TYPE = storage_of(call, x_),
                                                .DELTA_TYPE = storage_of(call, delta_),
                                                .A_TYPE = storage_of(call, a_),
                                                .B_TYPE = storage_of(call, b_),
                                                .D_TYPE = storage_of(call, d_),
                                                .STATES = u32(s.states),
                                                .CHUNK = u32(chunk_tokens),
                                                .BY_TOKEN = s.by_token,
                                                .LOGARITHM = call.attrs.flag("log_a"),
                                                .SOFTPLUS = call.attrs.flag("softplus"),
                                                .SCANNED = scanned};
    const auto of = [&](const char* real, const char* complex, std::int64_t groups) {
        Launch l{.shader = s.complex ? complex : real,
                 .spec = constants,
                 .operands = operands,
                 .groups = flat_grid(groups, caps)};
        return l.with(params::StateSpaceParams{.n = u32(s.n),
                                               .lanes = u32(s.lanes),
                                               .channels = u32(s.channels),
                                               .chunks = u32(s.chunks()),
                                               .kept = u32(KeptStates(call, state_, step_).kept())});
    };
    const std::int64_t groups = s.lanes * s.chunks() * ceil_div(s.channels, lanes);
    const Launch rows = of("state_space_rows", "state_space_rows_complex", groups);
    if (!scanned) return rows;
    require_loops(call, caps, s.chunks());
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(s.sums()) * 4};
    plan.launches = {
        of("state_space_sums", "state_space_sums_complex", groups),
        of("state_space_scan", "state_space_scan_complex", ceil_div(s.lanes * s.channels * s.states, lanes)), rows};
    return plan;
}

// Step sizes from 0.01 to 0.5 and decays up to exp(-4): states neither vanish nor grow.
std::vector<Case::Input> inputs(const Shape& x, std::int64_t states, bool complex, bool by_token, bool log_a = false) {
    const std::int64_t channels = x[-1];
    const auto numbers = [&](std::vector<std::int64_t> sizes) {
        if (complex) sizes.push_back(2);
        return Shape(sizes);
    };
    std::vector<std::int64_t> rows{channels};
    if (by_token) rows.assign(x.sizes().begin(), x.sizes().end() - 1);
    rows.push_back(states);
    const auto between = [](const Shape& shape, double low, double high, bool weight) {
        return Case::Input{
            .type = TensorType{shape}, .fill = Case::Fill::uniform, .low = low, .high = high, .weight = weight};
    };
    return {floats(x),
            between(by_token ? x : Shape{channels}, 0.01, 0.5, !by_token),
            between(numbers({channels, states}), log_a ? -2.0 : -4.0, log_a ? 1.0 : -0.1, true),
            floats(numbers(rows)),
            floats(numbers(rows)),
            weights({channels})};
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::vector<Case::Input> of, Attrs attrs = {}) {
        list.push_back({.name = name, .attrs = std::move(attrs), .inputs = std::move(of)});
    };
    const auto from = [](std::vector<Case::Input> of, const Shape& state) {
        of.push_back({.type = TensorType{state}, .fixed_type = true});
        return of;
    };
    add("selective n=75, over chunks", inputs({75, 70}, 16, false, true));
    add("selective n=64, whole chunks, from a state", from(inputs({64, 6}, 5, false, true), {6, 5}));
    add("selective n=7, as Mamba gives it", from(inputs({7, 66}, 16, false, true, true), {66, 16}),
        {{"log_a", true}, {"softplus", true}});
    add("selective, a batch, from states", from(inputs({2, 40, 9}, 20, false, true), {2, 9, 20}));
    add("constant n=70", inputs({70, 7}, 18, false, false));
    add("complex, constant n=70", inputs({70, 5}, 11, true, false));
    add("complex, constant, from a state", from(inputs({3, 5}, 8, true, false, true), {5, 8, 2}), {{"log_a", true}});
    add("complex, selective, a batch", inputs({2, 35, 5}, 9, true, true));
    add("one row", from(inputs({1, 5}, 16, false, true), {5, 16}));
    add("no rows", from(inputs({0, 5}, 4, false, true), {5, 4}));
    add("no rows of a batch, from zeros", inputs({2, 0, 5}, 4, true, false));
    std::vector<Case::Input> steep = inputs({40, 3}, 4, false, false);
    steep[a_] = filled_with(TensorType{Shape{3, 4}}, {-1e4, -300, -1, 0, -1e30, -50, -1e-3, 0, -1, -2, -3, -3e38});
    steep[delta_] = filled_with(TensorType{Shape{3}}, {0.5, 3, 0});
    for (Case::Input& input : steep) input.fixed_type = true;
    add("steep and flat decays", steep);
    std::vector<Case::Input> bare = inputs({5, 3}, 2, false, true);
    bare.pop_back();
    add("without D", bare);
    return list;
}

std::vector<Case> cases_cached() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::vector<Case::Input> of, const Shape& table, Case::Input step) {
        of.push_back({.type = TensorType{table}, .fixed_type = true});
        of.push_back(std::move(step));
        list.push_back({.name = name, .inputs = std::move(of)});
    };
    add("one row from position 5", inputs({1, 9}, 16, false, true), {6, 9, 16}, step_of_case(5, 1));
    add("3 of 8 rows to position 128", inputs({8, 9}, 16, false, true), {6, 9, 16}, step_of_case(125, 3));
    add("8 rows from position 128", inputs({8, 9}, 5, false, true), {6, 9, 5}, step_of_case(128, 8));
    add("150 of 160 rows from 0, over a kept position", inputs({160, 5}, 3, false, true), {6, 5, 3},
        step_of_case(0, 150));
    add("4 and 3 of 40 rows of 2 sequences in reverse", inputs({80, 5}, 3, false, true), {10, 5, 3},
        reversed_lanes(steps_of_case({step_of_case(8, 34), step_of_case(3, 3)})));
    add("complex, constant, 2 sequences", inputs({4, 5}, 3, true, false), {8, 5, 3, 2},
        steps_of_case({step_of_case(0, 2), step_of_case(7, 1)}));
    add("beyond the table", inputs({8, 5}, 3, false, true), {4, 5, 3}, step_of_case(124, 8));
    add("nothing valid", inputs({8, 5}, 3, false, true), {5, 5, 3}, step_of_case(9, 0));
    return list;
}

}  // namespace

const OpDef state_space_op = define_op(
    "state_space",
    "h_t = exp(delta_t A) h_{t-1} + delta_t B_t x_t, y_t = Re(C_t h_t) + D x_t; a scan by chunks (Gu, Dao 2023; Gu et "
    "al. 2022)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

const OpDef state_space_cached_op =
    define_op("state_space_cached", "state_space from and into a sequence's kept states (Gu, Dao 2023)",
              state_space_cached::operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}},
              cases_cached, of_a_state, {.step = step_, .context_rows = {state_}, .alias = {-1, state_}});

}  // namespace internal::ops::state_space

std::int64_t kept_states(std::int64_t context) { return context / STATE_EVERY + STATE_RECENT; }

StateSpaceResult state_space(Tensor x, const StateSpaceWeights& weights, const StateSpaceOptions& options,
                             SourceLocation where) {
    const auto& [delta, a, b, c, d] = weights;
    const bool cached = static_cast<bool>(options.step);
    std::vector<Tensor> operands{x, delta, a, b, c, d, options.state};
    if (cached) operands.push_back(options.step);
    Attrs attrs;
    if (options.log_a) attrs.set("log_a", true);
    if (options.softplus) attrs.set("softplus", true);
    const std::vector<Tensor> results =
        add_call(x.graph(), cached ? state_space_cached_op : state_space_op, operands, attrs, where);
    return {results[ops::state_space::y_], results[ops::state_space::new_state_]};
}

}  // namespace vantage
