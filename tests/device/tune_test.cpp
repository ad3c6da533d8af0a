// Tuning on the device: which kernels are chosen, and sessions that choose by a table.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "../host/expect_error.h"
#include "../host/own_cache.h"
#include "runtime/base/at.h"
#include "runtime/base/options.h"
#include "runtime/exec/plan_access.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/schedule.h"
#include "runtime/measure/tune.h"
#include "test_device.h"
#include "test_model.h"
#include "vantage/session.h"

using namespace vantage;

namespace {

/// The op `add`, with kernels that the tests plant in front of and behind its own.
LaunchPlan right(const OpCall& call, const Caps& caps) { return find_op("add")->kernels.back().launch(call, caps); }
LaunchPlan slow(const OpCall& call, const Caps& caps) {  // does the work 50 times
    LaunchPlan plan = right(call, caps);
    plan.launches.resize(50, plan.launches.front());
    return plan;
}
LaunchPlan wrong(const OpCall& call, const Caps& caps) {  // one workgroup: the rest is left as it was
    LaunchPlan plan = right(call, caps);
    plan.launches.front().groups = {1, 1, 1};
    return plan;
}
OpDef planted(std::vector<Kernel> kernels) {
    OpDef op = *find_op("add");
    op.kernels = std::move(kernels);
    return op;
}
OpCall call_of(const OpDef& op, std::int64_t rows) {
    OpCall call{.op = &op,
                .attrs = {},
                .inputs = {TensorType{Shape{rows, 1024}}, TensorType{Shape{rows, 1024}}},
                .outputs = {}};
    call.outputs = op.infer(call);
    return call;
}

}  // namespace

TEST_CASE("a slow kernel that stands first is not chosen after tuning", "[tune]") {
    const OpDef op = planted({{.name = "slow", .launch = slow}, {.name = "plain", .launch = right}});
    const TunedResult result = tune_call(test_device(), call_of(op, 16), {.seconds = 0.03});
    REQUIRE(result.default_kernel->name == std::string("slow"));
    CHECK(result.chosen->name == std::string("plain"));
    CHECK(result.notes.empty());
    TuningTable table;
    table.calls[tuning_key(call_of(op, 16))] = result.entry;
    CHECK(choose_kernel(call_of(op, 16), test_device().caps(), &table) == result.chosen);
}

TEST_CASE("a fast kernel whose results are wrong is not chosen", "[tune]") {
    const OpDef op = planted(
        {{.name = "slow", .launch = slow}, {.name = "wrong", .launch = wrong}, {.name = "plain", .launch = right}});
    const TunedResult result = tune_call(test_device(), call_of(op, 16), {.seconds = 0.03});
    CHECK(result.chosen->name == std::string("plain"));
    REQUIRE(result.notes.size() == 1);
    CHECK(test::contains(result.notes[0], "add/wrong is not chosen: its results differ from those of plain"));
    CHECK(result.entry.seconds.at("wrong") == std::nullopt);
}

// Kernels that nobody would choose, in a table in the cache: a session takes them, and says the same.
TEST_CASE("sessions choose by the table in the cache, and results stay", "[tune]") {
    const auto logits = [](std::vector<std::string>& kernels) {
        Session session(mini_world(), {.precision = Precision::f32, .inspect = true, .largest_chunk = 8});
        session.restart();
        session.append(some_ids(8));
        session.run();
        const Plan& plan = session.plan(8);
        for (const int node : live_nodes(plan.graph())) {
            const Kernel* kernel = at(PlanAccess::schedule(plan).kernels, node);
            kernels.push_back(at(plan.graph().nodes(), node).op->name + std::string("/") + kernel->name);
        }
        return session.logits().vector();
    };
    TuningTable table;
    {
        Session session(mini_world(), {.precision = Precision::f32, .inspect = true, .largest_chunk = 8});
        const Graph& graph = session.plan(8).graph();
        for (const int node : live_nodes(graph)) {
            const OpCall call = vantage::call_of(graph, at(graph.nodes(), node));
            if (call.op->name != std::string("matmul")) continue;
            TunedCall& tuned = table.calls[tuning_key(call)];
            tuned.kernel = "plain";
            for (const Kernel& kernel : call.op->kernels) tuned.seconds[kernel.name] = 1e-3;
        }
    }
    const test::OwnCache cache;
    add_to_own_tuning(test_device().caps(), table);
    std::vector<std::string> tuned, default_kernels;
    const std::vector<float> with = logits(tuned);
    ::setenv("VANTAGE_DISABLE_TUNING", "1", 1);
    const std::vector<float> without = logits(default_kernels);
    ::unsetenv("VANTAGE_DISABLE_TUNING");
    CHECK(std::ranges::count(tuned, "matmul/plain") > 0);
    CHECK(std::ranges::count(default_kernels, "matmul/plain") == 0);
    REQUIRE(with.size() == without.size());
    double worst = 0;
    for (std::size_t i = 0; i < with.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(with[i] - without[i])));
    CHECK(worst < 2e-3);  // sums in f32 in another order, as between chunks of a prompt
}
