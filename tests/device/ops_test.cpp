// Every kernel of every op that this device can run, on every case, against the op's reference: in f32 and, from case
// to case in turn, another storage type. `vantage conform` runs all of them.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <string_view>

#include "runtime/conform/case_runner.h"
#include "test_device.h"

using namespace vantage;

namespace {

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
        run_all_cases(test_device(), op->name, wish("VANTAGE_TEST_CASE"), wish("VANTAGE_TEST_KERNEL"), judge,
                      only.empty() ? StorageTypes::in_turn : StorageTypes::all);
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
