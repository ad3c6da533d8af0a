// Dumps of nodes: every op goes through a folder and runs again as before; a planted fault is found again.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "runtime/base/spirv.h"
#include "runtime/conform/case_runner.h"
#include "runtime/conform/replay_dump.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/choose_kernel.h"
#include "tests/device/test_device.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/vantage.h"

using namespace vantage;

namespace {

NodeDump through_folder(const NodeDump& dump) {
    const test::TemporaryDirectory folder;
    write_dump(dump, folder.path("dump"));
    return read_dump(folder.path("dump"));
}

/// Every product of floats becomes a sum.
std::vector<std::uint32_t> with_sums(std::span<const std::uint32_t> code) {
    constexpr std::uint32_t header_words = 5, product = 133, sum = 129;  // OpFMul, OpFAdd
    std::vector<std::uint32_t> changed(code.begin(), code.end());
    for (std::size_t i = header_words; i < changed.size(); i += std::max(changed[i] >> 16, 1u))
        if ((changed[i] & 0xffffu) == product) changed[i] = (changed[i] & ~0xffffu) | sum;
    return changed;
}

/// y = 2 gelu(x), [3, 70], as h.0.gelu and h.0.scale. `fault`: scale adds.
Plan small_plan(bool fault) {
    Graph g;
    {
        const Graph::Scope scope = g.scope("h", 0);
        g.output("y", scale(gelu(g.input("x", {3, 70})), 2));
    }
    Plan plan(std::move(g), test_device(), {.fuse = false, .keep_all = true, .guard = true});
    std::vector<float> x(210);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * static_cast<float>(i) - 1;
    plan.write("x", x);
    if (!fault) return plan;
    const NodeDump node = PlanAccess::describe(plan, 1);
    std::vector<const SpirvModule*> modules;
    for (const DumpedLaunch& launch : node.launches)
        modules.push_back(&add_spirv("with_sums", with_sums(node.modules.at(launch.module))));
    PlanAccess::use_modules(plan, 1, modules);
    return plan;
}

}  // namespace

TEST_CASE("every op runs again from its dump as it ran before", "[replay]") {
    for (const OpDef* op : all_ops()) {
        if (op->cases == nullptr) continue;
        const Case test = op->cases().front();
        for (const CaseTypes& types : types_of(test)) {
            PreparedCase prepared = prepare(*op, test, types);
            const Kernel* kernel = choose_kernel(prepared.call, test_device().caps());
            REQUIRE(kernel != nullptr);
            prepared.call.attrs = attrs_for(*kernel, prepared.call.attrs);
            CAPTURE(op->name, test.name, types.text(), kernel->name);
            const std::vector<TensorBytes> inputs = narrow_inputs(prepared.call, prepared.inputs);
            NodeDump ran = run_alone(test_device(), prepared.call, inputs, *kernel);
            ran.node = "h.0." + std::string(op->name);
            const NodeDump dump = through_folder(ran);
            CHECK(dump.node == ran.node);
            CHECK(dump.call.attrs == ran.call.attrs);
            CHECK((dump.inputs == ran.inputs && dump.results == ran.results));
            CHECK((dump.launches == ran.launches && dump.modules == ran.modules));
            const DumpReplay replay = replay_dump(test_device(), dump);
            CHECK(replay.passed());
            CHECK(replay.kernel == kernel->name);
            for (const ReplayedResult& result : replay.results) {
                CHECK(result.dumped_error.passed);
                CHECK(result.changed == 0);
            }
        }
    }
}

TEST_CASE("a planted fault is dumped, and found again with the dumped modules", "[replay]") {
    const std::vector<Divergence> found = small_plan(true).check();
    REQUIRE(found.size() == 1);
    const test::TemporaryDirectory folder;
    found[0].dump(folder.path("fault"));
    const NodeDump dump = read_dump(folder.path("fault"));
    CHECK(dump.node == "h.0.scale");
    CHECK(dump.finding == found[0].message);

    const DumpReplay repaired = replay_dump(test_device(), dump);  // this build's module is right
    CHECK(repaired.passed());
    CHECK(repaired.results[0].dumped_error.wrong > 0);
    CHECK(repaired.results[0].changed >= repaired.results[0].dumped_error.wrong);
    CHECK(std::ranges::any_of(repaired.notes,
                              [](const std::string& note) { return test::contains(note, "is not that of the dump"); }));

    const DumpReplay faulty = replay_dump(test_device(), dump, {.dumped_modules = true});
    CHECK_FALSE(faulty.passed());
    const ReplayedResult& result = faulty.results[0];
    CHECK(result.changed == 0);
    CHECK(result.error.wrong == repaired.results[0].dumped_error.wrong);
    const std::vector<WrongElement> wrong = wrong_elements(result.here, result.want, dump.call.op->tolerance, {}, 3);
    REQUIRE_FALSE(wrong.empty());  // those whose product is no part of a vector
    const double gelu_of = inputs_of(dump)[0][wrong[0].index];
    CHECK(std::abs(wrong[0].got - (gelu_of + 2)) < 1e-6);
    CHECK(std::abs(wrong[0].want - 2 * gelu_of) < 1e-6);
}

TEST_CASE("a node that is right is dumped when it is chosen", "[replay]") {
    Plan plan = small_plan(false);
    const NodeDump dump = through_folder(PlanAccess::run_up_to(plan, 1));
    CHECK(dump.node == "h.0.scale");
    CHECK(dump.finding.empty());
    CHECK(replay_dump(test_device(), dump).passed());
    CHECK(replay_dump(test_device(), dump, {.kernel = "plain"}).kernel == "plain");
    test::expect_error(ErrorKind::unsupported, {"\"nonsense\" of scale", "plain"},
                       [&] { replay_dump(test_device(), dump, {.kernel = "nonsense"}); });
}

TEST_CASE("the dump of a result that is not finite has the operands of its node", "[replay]") {
    Plan plan = small_plan(false);
    plan.write("x", std::vector<float>(210, 3e38f));
    const std::optional<Divergence> found = plan.find_not_finite();
    REQUIRE(found.has_value());
    const test::TemporaryDirectory folder;
    found->dump(folder.path("infinite"));
    const NodeDump dump = read_dump(folder.path("infinite"));
    CHECK(dump.node == "h.0.scale");
    const DumpReplay replay = replay_dump(test_device(), dump);
    CHECK_FALSE(replay.passed());  // the reference, in double precision, is finite
    CHECK(replay.results[0].error.wrong == 210);
    CHECK(std::abs(replay.results[0].want[0] / 6e38 - 1) < 1e-6);
}
