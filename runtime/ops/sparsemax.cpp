// Sparsemax: the Euclidean projection of a row onto the distributions, of which most weights are exactly 0.
//   y = max(x - tau, 0), tau such that Σ y = 1;  a row of only -inf gives zeros, one with NaN or +inf gives NaN
// Martins, Astudillo, "From Softmax to Sparsemax" (2016). The reference sorts, as their algorithm 1; the kernel finds
// tau by Newton's method, which ends at the exact support (Michelot 1986; Condat 2016).
#include "runtime/ops/sparsemax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "runtime/ops/checks.h"
#include "runtime/ops/softmax_backward.h"
#include "shaders/params/sparsemax.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::sparsemax {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(call.in(x_).shape.rank() >= 1, operand_is(call, x_) + ", but must have rows");
    return {call.in(x_)};
}

// The threshold of a row without NaN: that of the largest k whose k-th largest element is above the threshold of the k
// largest. Infinite for a row of only -inf, NaN with +inf.
double threshold_of(std::span<const double> numbers) {
    std::vector<double> row(numbers.begin(), numbers.end());
    std::ranges::sort(row, std::greater{});
    if (row.empty() || row[0] == -infinity) return infinity;
    if (row[0] == infinity) return std::nan("");
    double sum = 0, tau = infinity;
    for (std::size_t k = 0; k < row.size() && row[k] > -infinity; ++k) {
        sum += row[k] - row[0];
        const double next = (sum - 1) / static_cast<double>(k + 1);
        if (row[k] - row[0] > next) tau = next;
    }
    return row[0] + tau;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(x_).shape[-1];
    for (std::int64_t first = 0; first < call.in(x_).shape.elements(); first += cols) {
        const auto begin = in[x_].data.begin() + first;
        const std::vector<double> row(begin, begin + cols);
        const bool has_nan = std::ranges::any_of(row, [](double x) { return std::isnan(x); });
        const double tau = has_nan ? std::nan("") : threshold_of(row);
        for (std::int64_t i = 0; i < cols; ++i)
            out[0][first + i] = std::isnan(tau) ? tau : std::max(row[static_cast<std::size_t>(i)] - tau, 0.0);
    }
}

// Some five passes of a comparison and two additions.
Cost cost(const OpCall& call) { return streaming_cost(call, 15.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader, auto team_of = one_workgroup>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const std::int64_t cols = call.in(x_).shape[-1], rows = cols > 0 ? call.in(x_).shape.elements() / cols : 0;
    const std::uint32_t lanes = team_of(caps).lanes;
    // Newton's passes: excess times number begins at cols² at most, and an excess below 2^-26 is rounding.
    const auto passes = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(cols))) + 13;
    require_loops(call, caps, (passes + 2) * (std::int64_t{ceil_div(cols, lanes)} + 1));
    Launch l{.shader = shader,
             .spec = params::SparsemaxConstants{.lanes = lanes, .X_TYPE = storage_of(call, x_)},
             .operands = {in(x_), out(0)},
             .groups = flat_grid(rows, caps)};
    return l.with(params::SparsemaxParams{.rows = u32(rows), .cols = u32(cols)});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, const Shape& shape, double deviation) {
        list.push_back({.name = name, .inputs = {{.type = TensorType{shape}, .low = 0, .high = deviation}}});
    };
    const auto given = [&](const char* name, const Shape& shape, std::vector<double> values) {
        list.push_back({.name = name, .inputs = {filled_with(TensorType{shape}, std::move(values))}});
    };
    add("rows=3 cols=1", {3, 1}, 1);
    add("rows=5 cols=129, few weights", {5, 129}, 2);
    add("rows=2x3 cols=64, many weights", {2, 3, 64}, 0.02);
    add("rows=2 cols=4100 wide", {2, 4100}, 20);
    add("rows=2 cols=4101, all weights", {2, 4101}, 1e-4);
    add("rows=0 cols=8", {0, 8}, 1);
    add("rows=3 cols=0", {3, 0}, 1);
    // all masked; partly masked; one alone; ties of all and of the largest; far apart; the finite mask value of others
    given("masked, ties", {7, 3},
          {-infinity, -infinity, -infinity, 1,      -infinity, 1.5, -infinity, -infinity, -3,     60000, 60000,
           60000,     0.5,       0.5,       -20000, 20000,     0,   -20000,    -65504,    -65504, -65504});
    given("a weight at the threshold", {2, 3}, {1, 0, 0, 0.5, -0.25, -0.25});
    // the threshold moves in five steps, past most of these
    std::vector<double> steps{0};
    for (int i = 0; i < 40; ++i) steps.push_back(-1 + std::exp2(-0.25 * i));
    given("five passes", {1, 41}, steps);
    return list;
}

std::vector<Tensor> gradient(const GradientCall& g) {
    return {internal::softmax_backward(g.gradients[0], g.outputs[0], "sparsemax", -1, 1, g.where)};
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"one_subgroup", need_subgroup, on_cpu, launch<"sparsemax_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"sparsemax_subgroup">},
    {"plain", need_nothing, every_call, launch<"sparsemax">}};

const OpDef sparsemax_op =
    define_op("sparsemax", "y = max(x - tau, 0) over rows, tau such that sum y = 1 (Martins, Astudillo 2016)",
              operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::sparsemax

Tensor sparsemax(Tensor x, SourceLocation where) { return add_call(x.graph(), sparsemax_op, {x}, {}, where)[0]; }

}  // namespace vantage
