// The instrument of bench and tune: what it runs is the kernel asked for, on operands that are valid for it.
#include <catch2/catch_test_macros.hpp>

#include "../host/expect_error.h"
#include "runtime/base/at.h"
#include "runtime/conform/case_runner.h"
#include "runtime/graph/compare.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/operands.h"
#include "test_device.h"

using namespace vantage;

namespace {

/// The case's call, and what its reference makes of the operands that are usual.
struct Expected {
    OpCall call;
    std::vector<HostTensor> results;
};
Expected expected(const OpDef& op, const Case& test) {
    PreparedCase prepared = prepare(op, test, {});
    for (std::size_t i = 0; i < prepared.call.inputs.size(); ++i) {
        if (!prepared.call.inputs[i]) continue;
        const TensorType& type = *prepared.call.inputs[i];
        const std::vector<std::byte> block = default_operand(prepared.call, static_cast<int>(i));
        std::vector<std::byte> all;
        while (all.size() < type.bytes()) all.insert(all.end(), block.begin(), block.end());
        prepared.inputs[i] = widen(type, std::span(all).first(type.bytes()));
    }
    Expected e{.call = prepared.call, .results = {}};
    for (std::size_t i = 0; i < e.call.outputs.size(); ++i)
        e.results.push_back(op.alias_of(i) >= 0 ? at(prepared.inputs, op.alias_of(i)) : HostTensor(e.call.outputs[i]));
    op.reference(e.call, prepared.inputs, e.results);
    return e;
}

}  // namespace

TEST_CASE("measured kernels compute what their references do, on the usual operands", "[measure]") {
    const auto check = [](const char* name, std::size_t which) {
        const OpDef& op = *find_op(name);
        const Case test = op.cases().at(which);
        INFO(name << " " << test.name);
        const Expected e = expected(op, test);
        MeasuredCall measured(test_device(), e.call);
        const Kernel& kernel = op.kernels.back();
        const Measurement m = measured.measure(kernel, {.seconds = 1e-3, .min_samples = 2, .max_samples = 4});
        CHECK(m.samples.size() >= 2);
        CHECK(m.median > 0);
        const std::vector<HostTensor> got = measured.results(kernel);  // a state begins anew
        for (std::size_t i = 0; i < got.size(); ++i)
            CHECK(compare("result", got[i], e.results[i], op.tolerance).message == "");
    };
    check("matmul", 3);     // 70x130x48, with a bias
    check("write", 1);      // with a step, into a state
    check("attention", 6);  // a cache
}

TEST_CASE("what does not fit the memory is not begun", "[measure]") {
    const OpDef& op = *find_op("add");
    const std::int64_t half = static_cast<std::int64_t>(test_device().memory_available() / 8);
    const TensorType type{Shape{half / 1024, 1024}};
    const OpCall call{.op = &op, .attrs = {}, .inputs = {type, type}, .outputs = {}};
    test::expect_error(ErrorKind::out_of_memory, {"measuring add", "available"},
                       [&] { MeasuredCall(test_device(), call); });
}
