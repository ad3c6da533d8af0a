// Every kernel of every op that this device can run, on every case, against the op's reference: in f32 and, from case
// to case in turn, another storage type. `vantage conform` runs all of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <string_view>

#include "runtime/conform/case_runner.h"
#include "test_device.h"

using namespace vantage;

namespace {

/// The names of the op's cases: all, a sample of them, or the one of VANTAGE_TEST_CASE.
std::vector<std::string> cases_of(const OpDef& op) {
    if (const auto only = environment("VANTAGE_TEST_CASE")) return {*only};
    std::vector<std::string> names;
    if (op.cases != nullptr)
        for (const Case& test : op.cases()) names.push_back(test.name);
    return names.empty() ? names : sampled(names);
}

/// The names of the op's kernels: all, a sample of them and the last (VANTAGE_TEST_KERNELS=K/N), or the one of
/// VANTAGE_TEST_KERNEL.
std::vector<std::string> kernels_of(const OpDef& op) {
    if (const auto only = environment("VANTAGE_TEST_KERNEL")) return {*only};
    TestSample sample("VANTAGE_TEST_KERNELS");
    std::vector<std::string> names;
    for (const Kernel& kernel : op.kernels)
        if (std::ranges::find(names, kernel.name) == names.end() && (sample.next() || &kernel == &op.kernels.back()))
            names.emplace_back(kernel.name);
    return names;
}

/// Runs the cases of the ops that `wanted` takes; VANTAGE_TEST_OP, _CASE and _KERNEL narrow them down.
void check_kernels(bool (*wanted)(std::string_view op)) {
    const auto wish = [](const char* name) { return environment(name).value_or(""); };
    std::map<std::string, int> runs;
    const auto judge = [&](const OpDef& op, const Case& test, const CaseTypes& types, const Kernel& kernel,
                           const CaseResult& result) {
        if (result.status == CaseResult::not_fitting) return true;
        ++runs[kernel.name];
        INFO(op.name << " (" << test.name << ", " << types.text() << ") kernel=" << kernel.name << "\n  "
                     << result.message << "\n  rerun: VANTAGE_TEST_OP='" << op.name << "' VANTAGE_TEST_CASE='"
                     << test.name << "' VANTAGE_TEST_KERNEL='" << kernel.name << "' vantage_tests_device '[ops]'");
        CHECK(result.status == CaseResult::passed);
        return true;
    };
    const std::string only = wish("VANTAGE_TEST_OP");
    if (!only.empty()) REQUIRE(find_op(only) != nullptr);
    for (const OpDef* op : all_ops()) {
        if (!wanted(op->name) || (!only.empty() && only != op->name)) continue;
        runs.clear();
        const StorageTypes types = only.empty() ? StorageTypes::in_turn : StorageTypes::all;
        for (const std::string& name : cases_of(*op))
            for (const std::string& kernel : kernels_of(*op))
                run_all_cases(test_device(), op->name, name, kernel, judge, types);
        INFO(op->name);
        if (op->cases != nullptr && only.empty()) CHECK(runs[op->kernels.back().name] > 0);  // it fits everything
        if (!only.empty()) CHECK(!runs.empty());  // what was asked for is there
    }
}

}  // namespace

// Two tests, for two processes: attention takes longer to compile than all other ops together.
TEST_CASE("every kernel of attention agrees with its reference", "[ops][subgroup]") {
    check_kernels([](std::string_view op) { return op == "attention"; });
}

TEST_CASE("every kernel of every other op agrees with its reference", "[ops][subgroup]") {
    check_kernels([](std::string_view op) { return op != "attention"; });
}
