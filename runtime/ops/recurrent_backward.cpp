// The gradients of a recurrent layer, from the last row that it made back to the first (Werbos, "Backpropagation
// Through Time: What It Does and How to Do It", 1990). With y = W h + b of the row before, which the rule makes for all
// rows at once, s the sums x + y of an LSTM's gates, dx the gradients by the gates, and dy those by y:
//   rnn:   dx = dh (1 - h²)
//   lstm:  dc += dh o (1 - tanh² c),  dx = dc g i (1 - i), dc c' f (1 - f), dc i (1 - g²), dh tanh(c) o (1 - o)
//   gru:   dn = dh (1 - z) (1 - n²),  dx = dn y_n r (1 - r), dh (h' - n) z (1 - z), dn;  dy has r dn in place of dn
// with h' and c' of the row before. That row gets Wᵀ dy, a GRU's dh z and an LSTM's dc f; the first row gives the
// gradients of h0 and c0. dW = Σ dy h'ᵀ and db = Σ dy are products of all rows, and the rule's.
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/recurrent.h"
#include "shaders/params/recurrent.h"

namespace vantage::internal::ops::recurrent_backward {
namespace {

struct Sizes {
    std::int64_t sequences, rows, units, gates;
    std::uint32_t cell;
    bool reverse;
};
Sizes sizes_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    return {.sequences = x.rank() == 3 ? x[0] : 1,
            .rows = x[-2],
            .units = call.in(w_).shape[1],
            .gates = gates_of_cell(recurrent_cell(call)),
            .cell = recurrent_cell(call),
            .reverse = call.attrs.flag("reverse")};
}
bool is_lstm(const OpCall& call) { return recurrent_cell(call) == CELL_LSTM; }
bool is_gru(const OpCall& call) { return recurrent_cell(call) == CELL_GRU; }

// dx; dy of GRUs; dh0; dc0 of LSTMs.
std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const Shape &x = call.in(x_).shape, &w = call.in(w_).shape;
    call.require(x.rank() == 2 || x.rank() == 3, operand_is(call, x_) + ", but must be [(batch,) n, gates * units]");
    call.require(w.rank() == 2 && w[1] > 0, operand_is(call, w_) + ", but must be [gates * units, units]");
    const Sizes s = sizes_of(call);
    call.require(w[0] == s.gates * s.units && x[-1] == w[0], operand_is(call, x_) + ", but w is " + call.in(w_).text());
    call.require(w.elements() < std::int64_t{1} << 31, operand_is(call, w_) + ": more than 2^31 weights");
    for (const int i : {dh_, y_}) static_cast<void>(call.in(i));
    Shape h = x;
    h[-1] = s.units;
    require_type(call, y_, {x, DType::f32});
    for (const int i : {dh_, dc_, before_, c_}) require_type(call, i, {h, DType::f32});
    const TensorType state{Shape{s.sequences, s.units}, DType::f32};
    require_type(call, c0_, state);
    call.require(call.has(c_) == is_lstm(call) && (is_lstm(call) || (!call.has(dc_) && !call.has(c0_))),
                 "c belongs to LSTMs, and dc and c0 are theirs");
    call.require(call.has(before_) == is_gru(call), "before belongs to GRUs");
    std::vector<TensorType> results{{x, DType::f32}, state};
    if (is_gru(call)) results.insert(results.begin(), {x, DType::f32});
    if (is_lstm(call)) results.push_back(state);
    return results;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One unit of a row. `carried`: a GRU's dh and an LSTM's dc for the row before, as far as it does not go through W.
struct Unit {
    double x[4] = {}, y[4] = {}, dh = 0, dc = 0, c = 0, before = 0;
    double dx[4] = {}, dy[4] = {}, carried = 0;
};
void differentiate(Unit& u, std::uint32_t cell) {
    const auto sum = [&](int gate) { return at(u.x, gate) + at(u.y, gate); };
    const auto squash = [](double s) { return s * (1 - s); };
    if (cell == CELL_RNN) u.dx[0] = u.dh * (1 - std::tanh(sum(0)) * std::tanh(sum(0)));
    if (cell == CELL_GRU) {
        const double r = sigmoid(sum(0)), z = sigmoid(sum(1)), n = std::tanh(u.x[2] + r * u.y[2]);
        u.dx[2] = u.dh * (1 - z) * (1 - n * n);
        u.dx[1] = u.dh * (u.before - n) * squash(z);
        u.dx[0] = u.dx[2] * u.y[2] * squash(r);
        u.carried = u.dh * z;
    }
    if (cell == CELL_LSTM) {
        const double i = sigmoid(sum(0)), f = sigmoid(sum(1)), g = std::tanh(sum(2)), o = sigmoid(sum(3)),
                     bent = std::tanh(u.c), dc = u.dc + u.dh * o * (1 - bent * bent);
        u.dx[0] = dc * g * squash(i);
        u.dx[1] = dc * u.before * squash(f);
        u.dx[2] = dc * i * (1 - g * g);
        u.dx[3] = u.dh * bent * squash(o);
        u.carried = dc * f;
    }
    for (int gate = 0; gate < 4; ++gate) at(u.dy, gate) = at(u.dx, gate);
    if (cell == CELL_GRU) u.dy[2] = u.dx[2] * sigmoid(sum(0));
}

void run_sequence(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out,
                  std::int64_t sequence) {
    const Sizes s = sizes_of(call);
    HostTensor &dx = out[0], &dy = is_gru(call) ? out[1] : out[0], &dh0 = is_gru(call) ? out[2] : out[1];
    std::vector<double> dh(static_cast<std::size_t>(s.units)), carried = dh;
    for (std::int64_t turn = 0; turn < s.rows; ++turn) {
        const std::int64_t row = sequence * s.rows + (s.reverse ? turn : s.rows - 1 - turn);
        for (std::int64_t unit = 0; unit < s.units; ++unit) {
            const auto of = [&](int i, std::int64_t r) { return call.has(i) ? at(in, i)[r * s.units + unit] : 0; };
            Unit u{.dh = of(dh_, row) + at(dh, unit), .dc = of(dc_, row) + at(carried, unit), .c = of(c_, row)};
            if (s.cell == CELL_GRU) u.before = of(before_, row);
            if (s.cell == CELL_LSTM)
                u.before = turn + 1 == s.rows ? of(c0_, sequence) : of(c_, s.reverse ? row + 1 : row - 1);
            for (std::int64_t gate = 0; gate < s.gates; ++gate) {
                const std::int64_t i = (row * s.gates + gate) * s.units + unit;
                at(u.x, gate) = in[x_][i], at(u.y, gate) = in[y_][i];
            }
            differentiate(u, s.cell);
            for (std::int64_t gate = 0; gate < s.gates; ++gate) {
                const std::int64_t i = (row * s.gates + gate) * s.units + unit;
                dx[i] = at(u.dx, gate), dy[i] = at(u.dy, gate);
            }
            at(carried, unit) = u.carried;
        }
        for (std::int64_t unit = 0; unit < s.units; ++unit) {
            at(dh, unit) = s.cell == CELL_GRU ? at(carried, unit) : 0;
            for (std::int64_t gate = 0; gate < s.gates * s.units; ++gate)
                at(dh, unit) += in[w_][gate * s.units + unit] * dy[row * s.gates * s.units + gate];
        }
    }
    for (std::int64_t unit = 0; unit < s.units; ++unit) {
        dh0[sequence * s.units + unit] = at(dh, unit);
        if (is_lstm(call)) out[2][sequence * s.units + unit] = at(carried, unit);
    }
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::int64_t sequence = 0; sequence < sizes_of(call).sequences; ++sequence)
        run_sequence(call, in, out, sequence);
}

// As in the forward pass the weights are read for every row.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const auto rows = static_cast<double>(s.sequences * s.rows), units = static_cast<double>(s.units),
               gates = static_cast<double>(s.gates);
    Cost all = streaming_cost(call, rows * units * gates * (2 * units + 16));
    all.bytes_read +=
        static_cast<double>(call.in(w_).bytes()) * (static_cast<double>(std::max<std::int64_t>(s.rows, 1)) - 1);
    return all;
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 128), tile = std::min(lanes, 16U);
    require_loops(call, caps, ceil_div(s.gates * s.units, lanes / tile) + lanes / tile);
    const int dh0 = is_gru(call) ? 2 : 1;
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(std::max<std::int64_t>(s.sequences * s.units, 1)) * 4};
    Launch l{.shader = "recurrent_backward",
             .spec = params::RecurrentBackwardConstants{.lanes = lanes,
                                                        .X_TYPE = storage_of(call, x_),
                                                        .W_TYPE = storage_of(call, w_),
                                                        .CELL = s.cell,
                                                        .TILE = tile},
             .operands = {in(dh_), in(dc_), in(x_), in(y_), in(w_), in(before_), in(c_), in(c0_), update(0),
                          update(is_gru(call) ? 1 : 0), no_operand, no_operand,
                          Operand{Operand::scratch, 0, Operand::reads_writes}},
             .groups = flat_grid(s.sequences * ceil_div(s.units, tile), caps)};
    params::RecurrentBackwardParams all{
        .rows = u32(s.rows), .sequences = u32(s.sequences), .units = u32(s.units), .reverse = s.reverse};
    for (all.turn = 0; all.turn <= all.rows; ++all.turn) {
        if (all.turn == all.rows) l.operands[10] = out(dh0);
        if (all.turn == all.rows && is_lstm(call)) l.operands[11] = out(2);
        plan.launches.push_back(l.with(all));
    }
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const std::string& name, const std::string& cell, Shape h, bool reverse = false,
                         bool bare = false) {
        const bool lstm = cell == "lstm", gru = cell == "gru";
        const std::int64_t units = h[-1], sequences = h.rank() == 3 ? h[0] : 1;
        Shape x = h;
        x[-1] = units * (lstm ? 4 : gru ? 3 : 1);
        const auto f32_if = [](bool there, const Shape& shape) {
            return Case::Input{.type = only_if(there, TensorType{shape}), .fixed_type = true};
        };
        const Case::Input w{.type = TensorType{Shape{x[-1], units}}, .high = 0.3, .weight = true};
        list.push_back({.name = cell + " " + name,
                        .attrs = {{"cell", cell}, {"reverse", reverse}},
                        .inputs = {f32_if(true, h), f32_if(lstm && !bare, h), floats(x), f32_if(true, x), w,
                                   f32_if(gru, h), f32_if(lstm, h), f32_if(lstm && !bare, {sequences, units})}});
    };
    for (const std::string cell : {"rnn", "lstm", "gru"}) {
        add("9 rows of 12", cell, {9, 12});
        add("2 sequences in reverse, odd width, bare", cell, {2, 5, 33}, true, true);
        add("2 rows of 140", cell, {2, 140});
    }
    add("3 rows of one unit", "lstm", {3, 1});
    add("3 sequences in reverse", "lstm", {3, 4, 20}, true);
    add("no rows", "lstm", {0, 8});
    return list;
}

}  // namespace

const OpDef recurrent_backward_op = define_op(
    "recurrent_backward", "the gradients of a recurrent layer by its gates and first state (Werbos 1990)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::recurrent_backward
