// Every kernel of every op that this device can run, on every case and storage type, against the op's reference.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "runtime/exec/case_runner.h"
#include "test_device.h"

using namespace vantage;

TEST_CASE("every kernel of every op agrees with its reference", "[ops][subgroup]") {
    const Device& device = test_device();
    const auto wish = [](const char* name) { return environment(name).value_or(""); };
    std::map<std::string, int> runs;
    run_all_cases(
        device, wish("VANTAGE_TEST_OP"), wish("VANTAGE_TEST_CASE"), wish("VANTAGE_TEST_KERNEL"),
        [&](const OpDef& op, const Case& test, const CaseTypes& types, const Kernel& kernel, const CaseResult& result) {
            if (result.status == CaseResult::not_fitting) return true;
            ++runs[std::string(op.name) + "/" + kernel.name];
            INFO(op.name << " (" << test.name << ", " << types.text() << ") kernel=" << kernel.name << "\n  "
                         << result.message << "\n  rerun: VANTAGE_TEST_OP='" << op.name << "' VANTAGE_TEST_CASE='"
                         << test.name << "' VANTAGE_TEST_KERNEL='" << kernel.name << "' vantage_tests_device '[ops]'");
            CHECK(result.status == CaseResult::passed);
            return true;
        });
    CHECK(!runs.empty());
    for (const OpDef* op : all_ops()) {  // what fits everything has to have run
        INFO(op->name);
        if (op->cases != nullptr && wish("VANTAGE_TEST_OP").empty())
            CHECK(runs[std::string(op->name) + "/" + op->kernels.back().name] > 0);
    }
}
