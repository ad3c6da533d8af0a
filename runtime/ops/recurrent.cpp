// A recurrent layer over the rows of each sequence, as torch.nn.RNN, LSTM and GRU define it. x are the products of all
// rows with the input weights, made before (a matrix product for all rows at once); what is left is sequential:
//   rnn:   h' = tanh(x + W h + b)                                                            Elman 1990
//   lstm:  i, f, o = σ(x + W h + b),  g = tanh(x + W h + b),  c' = f c + i g,  h' = o tanh(c')
//          gates in the order i, f, g, o                           Hochreiter & Schmidhuber 1997; Gers et al. 2000
//   gru:   r, z = σ(x + W h + b),  n = tanh(x_n + r (W_n h + b_n)),  h' = (1 - z) n + z h
//          gates in the order r, z, n                              Cho et al. 2014, with r behind the product
// Workgroups cannot wait for one another within a dispatch. So one workgroup does all rows of a sequence where its
// weights are few, or each row is a dispatch of its own for the whole device.
#include "runtime/ops/recurrent.h"

#include <cmath>

#include "runtime/ops/column_sums.h"
#include "runtime/ops/step.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/recurrent.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::recurrent {
namespace {

constexpr const char* cells[] = {"rnn", "lstm", "gru"};  // by number: CELL_RNN …

struct Sizes {
    std::int64_t sequences, rows, units, gates;
    std::uint32_t cell;
    bool reverse;
};
Sizes sizes_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    const std::int64_t sequences = x.rank() == 3 ? x[0] : sequences_of(call, step_);
    return {.sequences = sequences,
            .rows = x.rank() == 3 ? x[1] : rows_of_each(call, x_, step_),
            .units = call.in(w_).shape[1],
            .gates = gates_of_cell(recurrent_cell(call)),
            .cell = recurrent_cell(call),
            .reverse = call.attrs.flag("reverse")};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call, step_);
    require_step(call, step_);
    const Shape &x = call.in(x_).shape, &w = call.in(w_).shape;
    call.require(x.rank() == 2 || x.rank() == 3, operand_is(call, x_) + ", but must be [(batch,) n, gates * units]");
    call.require(w.rank() == 2 && w[1] > 0, operand_is(call, w_) + ", but must be [gates * units, units]");
    const Sizes s = sizes_of(call);
    call.require(w[0] == s.gates * s.units,
                 operand_is(call, w_) + format(", but {} has {} gates of as many units", at(cells, s.cell), s.gates));
    call.require(x[-1] == w[0], operand_is(call, x_) + ", but w is " + call.in(w_).text());
    call.require(w.elements() < std::int64_t{1} << 31, operand_is(call, w_) + ": more than 2^31 weights");
    call.require(x.rank() == 2 || !call.has(step_) || sequences_of(call, step_) == s.sequences,
                 operand_is(call, x_) + format(", but the step has {} sequences", sequences_of(call, step_)));
    call.require(s.cell == CELL_LSTM || !call.has(c0_),
                 std::string("c0 is given, but ") + at(cells, s.cell) + " has no cell state");
    require_shape(call, b_, {w[0]});
    for (const int i : {h0_, c0_}) require_type(call, i, {Shape{s.sequences, s.units}, DType::f32});
    Shape h = x;
    h[-1] = s.units;
    return std::vector<TensorType>(s.cell == CELL_LSTM ? 2 : 1, TensorType{h, DType::f32});
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
        const std::int64_t valid = call.has(step_) ? std::min(word(in[step_], STEP_VALID, sequence), s.rows) : s.rows;
        std::vector<double> h(static_cast<std::size_t>(s.units)), c = h, before;
        for (std::int64_t unit = 0; unit < s.units; ++unit) {
            if (call.has(h0_)) at(h, unit) = in[h0_][sequence * s.units + unit];
            if (call.has(c0_)) at(c, unit) = in[c0_][sequence * s.units + unit];
        }
        for (std::int64_t i = 0; i < valid; ++i) {
            const std::int64_t row = sequence * s.rows + (s.reverse ? valid - 1 - i : i);
            before = h;
            for (std::int64_t unit = 0; unit < s.units; ++unit) {
                double x[4] = {}, y[4] = {};
                for (std::int64_t gate = 0; gate < s.gates; ++gate) {
                    const std::int64_t column = gate * s.units + unit;
                    x[gate] = in[x_][row * s.gates * s.units + column];
                    y[gate] = call.has(b_) ? in[b_][column] : 0;
                    for (std::int64_t k = 0; k < s.units; ++k) y[gate] += in[w_][column * s.units + k] * at(before, k);
                }
                if (s.cell == CELL_RNN) at(h, unit) = std::tanh(x[0] + y[0]);
                if (s.cell == CELL_GRU) {
                    const double z = sigmoid(x[1] + y[1]);
                    at(h, unit) = (1 - z) * std::tanh(x[2] + sigmoid(x[0] + y[0]) * y[2]) + z * at(before, unit);
                }
                if (s.cell == CELL_LSTM) {
                    at(c, unit) = sigmoid(x[1] + y[1]) * at(c, unit) + sigmoid(x[0] + y[0]) * std::tanh(x[2] + y[2]);
                    at(h, unit) = sigmoid(x[3] + y[3]) * std::tanh(at(c, unit));
                    out[c_][row * s.units + unit] = at(c, unit);
                }
                out[h_][row * s.units + unit] = at(h, unit);
            }
        }
    }
}

// h before each row: h0 and all rows but the last, or in reverse all but the first and h0.
Tensor rows_before(const GradientCall& g) {
    const Sizes s = sizes_of(g.call);
    const Tensor& h = g.outputs[h_];
    Graph graph = h.graph();
    const Tensor first = g.inputs[h0_] ? g.inputs[h0_] : zeros(graph, {s.sequences, s.units}, g.where),
                 rows = graph.reshape(h, {s.sequences, s.rows * s.units}, g.where),
                 all = s.reverse ? vantage::concat(rows, first, 1, g.where) : vantage::concat(first, rows, 1, g.where);
    return graph.reshape(vantage::columns(all, s.reverse ? s.units : 0, s.rows * s.units, g.where),
                         {s.sequences * s.rows, s.units}, g.where);
}

// The products of all rows are made again at once; what is left for recurrent_backward goes from row to row.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Sizes s = sizes_of(g.call);
    g.call.require(!g.call.has(step_), of_a_state);
    const Tensor &x = g.inputs[x_], &w = g.inputs[w_], &b = g.inputs[b_], &h = g.outputs[h_];
    if (x.shape().elements() == 0) return {};
    Graph graph = x.graph();
    const bool is_lstm = s.cell == CELL_LSTM, is_gru = s.cell == CELL_GRU;
    const Tensor before = rows_before(g), y = vantage::linear_transposed(before, w, b, g.where),
                 dh = g.gradients[h_] ? g.gradients[h_] : zeros(graph, h.shape(), g.where);
    const std::vector<Tensor> made =
        add_call(graph, recurrent_backward_op,
                 {dh, is_lstm ? g.gradients[c_] : Tensor(), x, graph.reshape(y, x.shape(), g.where), w,
                  is_gru ? graph.reshape(before, h.shape(), g.where) : Tensor(), is_lstm ? g.outputs[c_] : Tensor(),
                  g.inputs[c0_]},
                 g.call.attrs, g.where);
    const Tensor dy = graph.reshape(is_gru ? made[1] : made[0], {s.sequences * s.rows, s.gates * s.units}, g.where);
    std::vector<Tensor> result(c0_ + 1);
    result[x_] = made[0];
    if (g.needed[w_]) result[w_] = vantage::matmul(dy, before, {.transpose_a = true}, {}, {}, g.where);
    if (g.needed[b_]) result[b_] = sum_to(b.shape(), dy, {}, g.where);
    result[h0_] = made[is_gru ? 2 : 1];
    if (is_lstm) result[c0_] = made[2];
    return result;
}

// For each row and unit the products of its gates, and about 10 operations for each activation. The weights are read
// for every row: only a row's are needed at a time.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const auto rows = static_cast<double>(s.sequences * s.rows), units = static_cast<double>(s.units),
               gates = static_cast<double>(s.gates);
    Cost all = streaming_cost(call, rows * units * gates * (2 * units + 12));
    const double turns = static_cast<double>(std::max<std::int64_t>(s.rows, 1));
    all.bytes_read += static_cast<double>(call.in(w_).bytes()) * (turns - 1);
    return all;
}

Launch base_launch(const OpCall& call, const char* shader) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = shader, .operands = {in(x_), in(w_), in(b_), in(h0_), in(c0_), in(step_), update(h_)}};
    l.operands.push_back(s.cell == CELL_LSTM ? update(c_) : in(c0_));  // c0 is absent there
    return l;
}
params::RecurrentParams params_of(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const std::int64_t sequences = s.rows > 0 ? s.sequences : 0;
    return {.rows = u32(s.rows), .sequences = u32(sequences), .units = u32(s.units), .reverse = s.reverse};
}
template <class Constants>
Constants constants_of(const OpCall& call, std::uint32_t lanes) {
    const Sizes s = sizes_of(call);
    Constants constants{.lanes = lanes};
    constants.X_TYPE = storage_of(call, x_), constants.W_TYPE = storage_of(call, w_);
    constants.B_TYPE = storage_of(call, b_), constants.CELL = s.cell, constants.STEP = step_of(s.units);
    return constants;
}

constexpr std::uint32_t scan_lanes = 128;

template <ShaderName shader>
LaunchPlan launch_scan(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    Launch l = base_launch(call, shader);
    auto constants = constants_of<params::RecurrentScanConstants>(call, workgroup_size(caps, scan_lanes));
    constants.UNITS = u32(s.units);
    l.spec = constants;
    l.groups = flat_grid(s.sequences, caps);
    return l.with(params_of(call));
}

// Its state is in shared memory (12 bytes for a unit). On some devices a long loop would end early.
bool fits_scan(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::int64_t lanes = workgroup_size(caps, scan_lanes), step = step_of(s.units),
                       products = ceil_div(s.units, lanes) * (ceil_div(s.units, step) + std::int64_t{1});
    return s.units <= 1024 && (!caps.ends_long_loops() || s.rows * (products + 1) <= longest_loop);
}
// On a GPU one row is for the whole device, and so are rows with many weights: one workgroup reads about a hundredth of
// what the device reads in the same time. On CPU devices workgroups are dear: LSTMs of 128 and 512 units take 6.4 and
// 1.8 times as long by rows.
bool is_small(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return caps.is_cpu() || (s.rows > 1 && s.gates * s.units * s.units <= 1 << 17);
}
bool is_small_on_gpu(const OpCall& call, const Caps& caps) { return !caps.is_cpu() && is_small(call, caps); }

template <ShaderName shader>
LaunchPlan launch_rows(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    LaunchPlan plan;
    Launch l = base_launch(call, shader);
    l.spec = constants_of<params::RecurrentConstants>(call, lanes);
    l.groups = flat_grid(s.sequences * s.units, caps);
    params::RecurrentParams all = params_of(call);
    for (all.turn = 0; all.turn == 0 || all.turn < all.rows; ++all.turn) plan.launches.push_back(l.with(all));
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const std::string& name, const std::string& cell, Shape x, std::int64_t units,
                         Attrs attrs = {}, bool bare = false, const Case::Input& step = {}) {
        const std::int64_t gates = cell == "lstm" ? 4 : cell == "gru" ? 3 : 1;
        x[-1] = gates * units;
        attrs.set("cell", cell);
        const std::int64_t sequences = x.rank() == 3 ? x[0] : step.type ? step.type->shape[0] : 1;
        const Case::Input w{.type = TensorType{Shape{x[-1], units}}, .high = 0.4, .weight = true},
            b{.type = only_if(!bare, TensorType{Shape{x[-1]}}), .weight = true},
            h0{.type = only_if(!bare, TensorType{Shape{sequences, units}}), .high = 0.5, .fixed_type = true};
        list.push_back({.name = name,
                        .attrs = std::move(attrs),
                        .inputs = {floats(x), w, b, h0, cell == "lstm" ? h0 : Case::Input{}, step}});
    };
    for (const std::string cell : cells) {
        add(cell + " 9 rows of 12", cell, {9, 0}, 12);
        add(cell + " 2 sequences in reverse, odd width, no bias, no state", cell, {2, 5, 0}, 33, {{"reverse", true}},
            true);
        add(cell + " one row of 140", cell, {1, 0}, 140);
    }
    const Case::Input steps = steps_of_case({step_of_case(4, 5), step_of_case(0, 0), step_of_case(9, 8)});
    add("5, 0 and 8 of 8 rows of 3 sequences", "lstm", {24, 0}, 8, {}, false, steps);
    add("the same in reverse, lanes in reverse", "gru", {24, 0}, 8, {{"reverse", true}}, false, reversed_lanes(steps));
    add("one unit", "lstm", {3, 0}, 1);
    add("no rows", "gru", {0, 0}, 8);
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"scan_subgroup", need_subgroup, fits_scan, launch_scan<"recurrent_scan_subgroup">, is_small_on_gpu},
    {"scan", need_nothing, fits_scan, launch_scan<"recurrent_scan">, is_small},
    {"row_subgroup", need_subgroup, every_call, launch_rows<"recurrent_row_subgroup">},
    {"row", need_nothing, every_call, launch_rows<"recurrent_row">}};

const OpDef recurrent_op =
    define_op("recurrent", "a tanh RNN, LSTM or GRU over rows: h_t = cell(x_t + W h_{t-1} + b), as torch.nn defines it",
              operand_names, infer, reference, cost, kernels, cases, gradient, {.step = step_});

}  // namespace internal::ops::recurrent

std::uint32_t internal::recurrent_cell(const OpCall& call) {
    const std::string name = call.attrs.text("cell", "lstm");
    for (std::uint32_t i = 0; i < 3; ++i)
        if (name == at(ops::recurrent::cells, i)) return i;
    call.fail("cell is " + name + ", but must be rnn, lstm or gru");
}

std::int64_t internal::gates_of_cell(std::uint32_t cell) { return cell == CELL_LSTM ? 4 : cell == CELL_GRU ? 3 : 1; }

const char* name_of(RecurrentCell cell) { return internal::ops::recurrent::cells[static_cast<int>(cell)]; }

RecurrentResult recurrent(Tensor x, Tensor w, Tensor b, RecurrentOptions options, SourceLocation where) {
    Attrs attrs{{"cell", std::string(name_of(options.cell))}};
    if (options.reverse) attrs.set("reverse", true);
    const std::vector<Tensor> results =
        add_call(x.graph(), recurrent_op, {x, w, b, options.h0, options.c0, options.step}, attrs, where);
    return {.h = results[0], .c = results.size() > 1 ? results[1] : Tensor()};
}

}  // namespace vantage
