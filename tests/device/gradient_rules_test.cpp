// Gradient rules on the device: that the nodes which a rule adds fit together there. What they mean is tested on the
// host, against differences, and what each kernel computes by the cases of its op.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "runtime/base/format.h"
#include "runtime/conform/case_runner.h"
#include "runtime/ops/registry.h"
#include "test_device.h"

using namespace vantage;
using namespace vantage::internal;

namespace {

/// A case, its gradients by all operands, and what the plan that makes them is given.
struct Differentiated {
    Graph graph;
    std::vector<std::pair<std::string, HostTensor>> given;

    Tensor input(const std::string& name, const HostTensor& values) {
        given.emplace_back(name, values);
        return graph.input(name, values.type.shape, values.type.dtype);
    }
};

void write_values(Plan& plan, const std::string& name, const HostTensor& values) {
    if (is_float(values.type.dtype))
        plan.write(name, std::vector<float>(values.data.begin(), values.data.end()));
    else
        plan.write(name, std::vector<std::int32_t>(values.data.begin(), values.data.end()));
}

/// Empty where the rule refuses the case, or all is zero. `all`: by all results, not by the first alone.
std::optional<Differentiated> differentiate(const OpDef& op, const Case& test, bool all) {
    const PreparedCase prepared = prepare(op, test, {});
    Differentiated made;
    GradientCall call{.call = prepared.call, .where = SourceLocation::here()};
    for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
        const bool is_there = prepared.call.has(static_cast<int>(i));
        call.inputs.push_back(is_there ? made.input(op.operands[i], prepared.inputs[i]) : Tensor());
        call.needed.push_back(is_there && is_float(prepared.inputs[i].type.dtype));
    }
    call.outputs = add_call(made.graph, op, call.inputs, prepared.call.attrs, call.where);
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        made.graph.output(format("result {}", i), call.outputs[i]);
        HostTensor values(prepared.call.outputs[i]);
        for (std::size_t k = 0; k < values.data.size(); ++k)
            values.data[k] = 0.5 - static_cast<double>(k * 7 % 11) / 10;
        call.gradients.push_back(i == 0 || all ? made.input(format("gradient {}", i), values) : Tensor());
    }
    try {
        const std::vector<Tensor> results = op.gradient.rule(call);
        if (results.empty()) return std::nullopt;
        for (std::size_t i = 0; i < results.size(); ++i)
            if (results[i] && call.needed[i]) made.graph.output(format("by {}", op.operands[i]), results[i]);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        return std::nullopt;
    }
    return made;
}

/// Runs a case by all results, or by the first where the rule refuses the others.
void check(const OpDef& op, const std::string& name, bool all = true) {
    INFO(op.name << ", " << name);
    const std::vector<Case> cases = op.cases();
    const auto test = std::ranges::find(cases, name, &Case::name);
    REQUIRE(test != cases.end());
    if (!all) REQUIRE(!differentiate(op, *test, true));
    std::optional<Differentiated> made = differentiate(op, *test, all);
    REQUIRE(made);
    Plan plan(std::move(made->graph), test_device(), {.keep_all = true, .guard = true});
    for (const auto& [input, values] : made->given) write_values(plan, input, values);
    for (const Divergence& found : plan.check(4)) FAIL_CHECK(found.node << ": " << found.message);
}

}  // namespace

TEST_CASE("gradient rules of several nodes run as their references say", "[train]") {
    check(alignment_op, "additive, 3 by 17 of 33, 2 features");
    check(alignment_op, "dot, keys 11 of 17", false);
    check(recurrent_op, "rnn 9 rows of 12");
    check(recurrent_op, "lstm 9 rows of 12");
    check(recurrent_op, "gru 2 sequences in reverse, odd width, no bias, no state");
    check(causal_conv1d_op, "n=70, width 4, silu");
    check(distance_weights_op, "relative keys and queries");
    check(linear_attention_op, "batch, heads first");
    check(state_space_op, "selective n=7, as Mamba gives it");
}
