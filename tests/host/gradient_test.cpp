// Gradients: the rule of every op against central differences of its reference, and the pass that puts rules together.
// All in double, on the host; that kernels compute what references say is tested on devices.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "evaluate.h"
#include "expect_error.h"
#include "runtime/base/format.h"
#include "runtime/conform/case_runner.h"
#include "runtime/ops/registry.h"
#include "vantage/gradient.h"
#include "vantage/ops.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::evaluate;
using vantage::test::expect_error;

namespace {

std::mt19937& random_numbers() {
    static std::mt19937 engine(5);
    return engine;
}

HostTensor random_tensor(const TensorType& type) {
    HostTensor tensor(type);
    std::normal_distribution<double> normal;
    for (double& x : tensor.data) x = normal(random_numbers());
    return tensor;
}

double dot(const HostTensor& a, const HostTensor& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.data.size(); ++i)
        if (a.data[i] != 0) sum += a.data[i] * b.data[i];
    return sum;
}

/// One result of a call of an op, weighted by random numbers: what is differentiated.
class Checked {
public:
    Checked(const OpDef& op, const Case& test, std::size_t result)
        : prepared_(prepare(op, test, {})), result_(result), weights_(random_tensor(prepared_.call.outputs[result])) {}

    /// The rule's gradients by each operand; empty ones are zeros. Throws what the rule does.
    std::vector<HostTensor> by_rule() const {
        Graph graph;
        std::map<std::string, HostTensor> values;
        std::vector<Tensor> operands;
        GradientCall call{.call = prepared_.call, .where = SourceLocation::here()};
        for (std::size_t i = 0; i < prepared_.inputs.size(); ++i) {
            if (!prepared_.call.has(static_cast<int>(i))) {
                operands.emplace_back();
            } else {
                const HostTensor& value = prepared_.inputs[i];
                const std::string name = prepared_.call.op->operands[i];
                operands.push_back(graph.input(name, value.type.shape, value.type.dtype));
                values[name] = value;
            }
            call.needed.push_back(is_wanted(i));
        }
        call.inputs = operands;
        call.outputs = add_call(graph, *prepared_.call.op, operands, prepared_.call.attrs, call.where);
        call.gradients.resize(call.outputs.size());
        call.gradients[result_] = graph.input("gradient of the result", weights_.type.shape);
        values["gradient of the result"] = weights_;
        std::vector<Tensor> made = prepared_.call.op->gradient.rule(call), wanted;
        made.resize(operands.size());
        for (const Tensor& tensor : made)
            if (tensor) wanted.push_back(tensor);
        std::vector<HostTensor> found = evaluate(graph, values, wanted), results(made.size());
        for (std::size_t i = 0, next = 0; i < made.size(); ++i)
            if (made[i]) results[i] = found[next++];
        return results;
    }

    const OpCall& call() const { return prepared_.call; }
    bool is_wanted(std::size_t operand) const {
        const auto i = static_cast<int>(operand);
        return prepared_.call.has(i) && is_float(prepared_.call.in(i).dtype) && only_.value_or(operand) == operand;
    }
    void only(std::size_t operand) { only_ = operand; }
    const std::vector<HostTensor>& inputs() const { return prepared_.inputs; }

    /// The weighted result with an operand moved by `step` times a direction.
    double at(std::size_t operand, const HostTensor& direction, double step) const {
        std::vector<HostTensor> moved = prepared_.inputs;
        for (std::size_t k = 0; k < direction.data.size(); ++k)
            if (direction.data[k] != 0) moved[operand].data[k] += step * direction.data[k];
        return dot(weights_, run_reference(prepared_.call, moved)[result_]);
    }

private:
    PreparedCase prepared_;
    std::size_t result_;
    HostTensor weights_;
    std::optional<std::size_t> only_;
};

/// Some elements, and two directions through all of them; none through elements that are not finite, or far away.
std::vector<HostTensor> directions(const HostTensor& x) {
    std::vector<HostTensor> list;
    const auto usable = [&](std::size_t i) { return std::abs(x.data[i]) < 100; };
    std::uniform_int_distribution<std::size_t> any(0, std::max<std::size_t>(x.data.size(), 1) - 1);
    for (int i = 0; i < 6 && !x.data.empty(); ++i) {
        HostTensor one(x.type);
        const std::size_t place =
            x.data.size() <= 6 ? static_cast<std::size_t>(i) % x.data.size() : any(random_numbers());
        if (!usable(place)) continue;
        one.data[place] = 1;
        list.push_back(one);
    }
    for (int i = 0; i < 2; ++i) {
        HostTensor all = random_tensor(x.type);
        for (std::size_t k = 0; k < all.data.size(); ++k)
            if (!usable(k)) all.data[k] = 0;
        list.push_back(all);
    }
    return list;
}

/// Compares along directions. Where the function has a corner within the step (relu, limits, the largest of several),
/// the slopes of whole and half steps to both sides disagree, and the direction does not count. Half steps tell two
/// corners that cancel out from none. Returns how many directions did count.
int compare(const Checked& checked, std::size_t operand, const HostTensor& gradient) {
    constexpr double h = 1e-6;
    int compared = 0;
    const double here = checked.at(operand, HostTensor(checked.inputs()[operand].type), 0);
    for (const HostTensor& direction : directions(checked.inputs()[operand])) {
        std::array<double, 4> slopes;
        std::ranges::transform(std::array{h, -h, h / 2, -h / 2}, slopes.begin(),
                               [&](double step) { return (checked.at(operand, direction, step) - here) / step; });
        const auto [least, most] = std::ranges::minmax(slopes);
        const double wanted = (slopes[0] + slopes[1]) / 2, allowed = 1e-5 + 1e-4 * std::abs(wanted);
        if (!std::isfinite(wanted) || most - least > allowed) continue;
        const double got = gradient.data.empty() ? 0 : dot(direction, gradient);
        INFO("difference " << wanted << ", rule " << got);
        CHECK(std::abs(got - wanted) <= allowed);
        ++compared;
    }
    return compared;
}

/// What a rule may refuse, so that one which refuses more than it must is found.
struct Refusal {
    std::string_view op, reason;
    std::string_view with = {};           ///< an operand or a flag that the call must have
    std::string_view by = {};             ///< the operand; empty: any
    std::optional<std::size_t> result{};  ///< nothing: any
};

constexpr const char *of_statistics = "the statistics of attention have no gradient",
                     *of_running = "running statistics have no gradient", *of_norm = "mean and rstd have no gradient";
constexpr auto refusals = std::to_array<Refusal>({
    {.op = "attention",
     .reason = "hard attention has no gradient: which key is the largest changes by jumps",
     .with = "hard"},
    {.op = "attention", .reason = of_a_state, .with = "step"},
    {.op = "attention",
     .reason = "a mask has no gradient: it would be as large as the mask; learn a bias by position",
     .by = "mask"},
    {.op = "attention", .reason = of_statistics, .result = 2},
    {.op = "attention", .reason = of_statistics, .result = 3},
    {.op = "alignment", .reason = of_a_state, .with = "step"},
    {.op = "alignment", .reason = "scores of keys behind kv_len have no gradient", .with = "kv_len", .result = 1},
    {.op = "recurrent", .reason = of_a_state, .with = "step"},
    {.op = "route", .reason = of_a_state, .with = "step"},
    {.op = "embedding", .reason = of_a_state, .with = "step"},
    {.op = "rope", .reason = of_a_state, .with = "step"},
    {.op = "rope", .reason = "the table of angles has no gradient", .by = "table"},
    {.op = "layer_norm", .reason = of_fusion, .with = "residual"},
    {.op = "layer_norm", .reason = of_norm, .result = 1},
    {.op = "layer_norm", .reason = of_norm, .result = 2},
    {.op = "rms_norm", .reason = of_fusion, .with = "residual"},
    {.op = "rms_norm", .reason = "rstd has no gradient", .result = 1},
    {.op = "batch_norm", .reason = of_running, .result = 1},
    {.op = "batch_norm", .reason = of_running, .result = 2},
    {.op = "batch_norm", .reason = of_running, .by = "mean"},
    {.op = "batch_norm", .reason = of_running, .by = "variance"},
    {.op = "cross_entropy", .reason = "the log-sum-exp has no gradient", .result = 1},
});

bool call_has(const OpCall& call, std::string_view name) {
    const std::vector<const char*>& names = call.op->operands;
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? call.attrs.flag(std::string(name))
                                : call.has(static_cast<int>(found - names.begin()));
}

/// The entries that a refusal fits; none: it is not one of them.
std::vector<std::size_t> fitting(const OpCall& call, std::size_t result, std::size_t operand, const std::string& said) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < refusals.size(); ++i) {
        const Refusal& r = refusals[i];
        if (r.op == call.op->name && said.ends_with(format("{}: {}", r.op, r.reason)) &&
            (r.with.empty() || call_has(call, r.with)) && (r.by.empty() || r.by == call.op->operands[operand]) &&
            r.result.value_or(result) == result)
            list.push_back(i);
    }
    return list;
}

}  // namespace

TEST_CASE("the gradient of every op agrees with central differences of its reference", "[gradient][slow]") {
    std::set<std::size_t> refused;
    for (const OpDef* op : all_ops()) {
        INFO(op->name);
        if (op->gradient.rule == nullptr) {
            CHECK(std::string(op->gradient.refusal).size() > 10);
            CHECK(std::string(op->gradient.refusal) != OpDef().gradient.refusal);  // a reason of its own
            continue;
        }
        std::map<std::size_t, int> compared;  // by operand that any case differentiates
        for (const Case& test : op->cases()) {
            const std::size_t results = prepare(*op, test, {}).call.outputs.size();
            for (std::size_t result = 0; result < results; ++result) {
                Checked checked(*op, test, result);
                for (std::size_t operand = 0; operand < checked.inputs().size(); ++operand) {
                    if (!checked.is_wanted(operand)) continue;
                    INFO(op->name << ", " << test.name << ", result " << result << " by " << op->operands[operand]);
                    Checked one = checked;
                    one.only(operand);
                    std::vector<HostTensor> gradients;
                    try {
                        gradients = one.by_rule();
                    } catch (const Error& error) {
                        CHECK(error.kind() == ErrorKind::usage);
                        const std::vector<std::size_t> fits = fitting(one.call(), result, operand, error.what());
                        if (fits.empty()) FAIL_CHECK("no refusal of the list: " << error.what());
                        refused.insert(fits.begin(), fits.end());
                        continue;
                    }
                    compared[operand] += compare(one, operand, gradients[operand]);
                }
            }
        }
        int all = 0;
        for (const auto& [operand, count] : compared) {
            INFO(op->operands[operand]);
            CHECK(count > 0);
            all += count;
        }
        CHECK(all >= 10);
    }
    for (std::size_t i = 0; i < refusals.size(); ++i) {
        const Refusal& r = refusals[i];
        INFO(r.op << ": " << r.reason << ", with '" << r.with << "' by '" << r.by << "'");
        CHECK(refused.contains(i));  // or it need not be in the list
    }
}

namespace {

/// d loss / d x of a graph with the inputs x and y, which are [2, 3] and [3].
struct Small {
    Graph graph;
    Tensor x = graph.input("x", {2, 3}), y = graph.input("y", {3});
    std::map<std::string, HostTensor> values{{"x", random_tensor({Shape{2, 3}})}, {"y", random_tensor({Shape{3}})}};
    Tensor total(Tensor t) {  // the sum of all elements
        const std::int64_t count = t.shape().elements();
        Graph g = t.graph();
        return matmul(g.reshape(t, {1, count}), g.constant(format("{} ones", count), {count, 1}, [count] {
            return std::vector<float>(static_cast<std::size_t>(count), 1);
        }));
    }
    std::vector<double> value(const Tensor& tensor) {
        return evaluate(graph, values, std::vector{tensor}).front().data;
    }
    std::vector<double> gradient(const Tensor& loss, const Tensor& of) {
        return value(gradients(graph.reshape(loss, {1}), std::vector{of}).front());
    }
};

}  // namespace

TEST_CASE("gradients of several uses of a value are added", "[gradient]") {
    Small s;
    const Tensor loss = s.total(s.x * s.x + 3.0 * s.x);
    const std::vector<double> got = s.gradient(loss, s.x);
    for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(got[i] - (2 * s.values["x"].data[i] + 3)) < 1e-12);
}

TEST_CASE("a gradient goes through other shapes of a value, and to the value between", "[gradient]") {
    Small s;
    const Tensor flat = s.graph.reshape(s.x, {6}), squares = flat * flat;
    const Tensor loss = s.graph.reshape(s.total(s.graph.reshape(squares, {3, 2}) * s.graph.reshape(flat, {3, 2})), {1});
    const std::vector<Tensor> of{s.x, squares, s.y};
    const std::vector<Tensor> got = gradients(loss, of);
    CHECK(!got[2]);  // the loss does not depend on y
    const std::vector<double> by_x = s.value(got[0]), by_squares = s.value(got[1]);
    CHECK(got[0].shape() == Shape{2, 3});
    for (std::size_t i = 0; i < 6; ++i) {
        const double x = s.values["x"].data[i];
        CHECK(std::abs(by_x[i] - 3 * x * x) < 1e-12);
        CHECK(std::abs(by_squares[i] - x) < 1e-12);
    }
}

TEST_CASE("a swish whose beta is learned has the gradient of central differences", "[gradient]") {
    Small s;
    const Tensor loss = s.total(s.x * activate(s.x * s.y, Activation::sigmoid));  // y: the beta of each feature
    const std::vector<double> got = s.gradient(loss, s.y);
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < 3; ++i) {
        double& beta = s.values["y"].data[i];
        const double here = beta;
        beta = here + h;
        const double above = s.value(loss)[0];
        beta = here - h;
        const double below = s.value(loss)[0];
        beta = here;
        CHECK(std::abs(got[i] - (above - below) / (2 * h)) < 1e-8);
    }
}

TEST_CASE("nothing is differentiated that does not lie between the loss and what is asked for", "[gradient]") {
    Small s;
    const Tensor ids = argmax(s.x);  // has no gradient, and needs none
    const Tensor loss = s.total(embedding(ids, s.graph.reshape(s.y, {3, 1})));
    const std::vector<double> got = s.gradient(loss, s.y);
    CHECK(got[0] + got[1] + got[2] == 2);
    const std::size_t nodes = s.graph.nodes().size();
    const Tensor other = s.graph.reshape(s.total(s.x), {1});
    CHECK(!gradients(other, std::vector{s.y}).front());
    CHECK(s.graph.nodes().size() == nodes + 1);  // the sum alone
}

TEST_CASE("what has no gradient is named with the reason and the line", "[gradient]") {
    Small s;
    const Tensor loss = s.graph.reshape(s.total(sampling_probs(s.x, {})), {1});
    expect_error(ErrorKind::usage, {"gradient_test.cpp", "sampling_probs", "it has no gradient", "draw"},
                 [&] { gradients(loss, std::vector{s.x}); });
    expect_error(ErrorKind::usage, {"must be f32 with one element"}, [&] { gradients(s.x, std::vector{s.x}); });
    expect_error(ErrorKind::usage, {"another graph"}, [&] { gradients(loss, std::vector{Graph().input("x", {1})}); });
    expect_error(ErrorKind::usage, {"empty"}, [&] { gradients({}, std::vector{s.x}); });
    const Tensor q = s.graph.reshape(s.x, {2, 1, 3});
    const Tensor hard = attention(q, q, q, {.hard = true}).o;
    expect_error(ErrorKind::usage, {"hard attention has no gradient"},
                 [&] { gradients(s.graph.reshape(s.total(hard), {1}), std::vector{s.x}); });
}

TEST_CASE("a stopped gradient is zero, and the value stays", "[gradient]") {
    Small s;
    const Tensor stopped = stop_gradient(s.x * s.x);
    const Tensor loss = s.total(stopped * s.x);
    const std::vector<double> got = s.gradient(loss, s.x), value = s.value(loss);
    double wanted = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        const double x = s.values["x"].data[i];
        CHECK(std::abs(got[i] - x * x) < 1e-12);
        wanted += x * x * x;
    }
    CHECK(std::abs(value[0] - wanted) < 1e-12);
}

TEST_CASE("given gradients take the place of those by nodes", "[gradient]") {
    Small s;
    const Tensor sum = s.total(s.x);
    const Tensor given = given_gradients(sum, std::vector<GivenGradient>{{s.x, s.x * s.x}});
    const std::vector<double> alone = s.gradient(given, s.x), scaled = s.gradient(2.0 * (given * given), s.x);
    double value = 0;
    for (const double x : s.values["x"].data) value += x;
    for (std::size_t i = 0; i < 6; ++i) {
        const double x = s.values["x"].data[i];
        CHECK(std::abs(alone[i] - x * x) < 1e-12);
        CHECK(std::abs(scaled[i] - 4 * value * x * x) < 1e-9);
    }
    expect_error(ErrorKind::usage, {"given_gradients", "the gradient is f32 [3], but x is f32 [2, 3]"}, [&] {
        given_gradients(sum, std::vector<GivenGradient>{{s.x, s.y}});
    });
}
