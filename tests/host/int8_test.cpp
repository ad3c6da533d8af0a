// Products of packed bytes down to their launch parameters, on made-up devices: when rows may be rounded, and what is
// launched then.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>

#include "runtime/base/version.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/matmul.h"
#include "shaders/params/matmul.h"
#include "tests/host/made_up_devices.h"

using namespace vantage;
using namespace vantage::test;

namespace {

OpCall product(std::int64_t m, std::int64_t n, std::int64_t k, DType weights, bool leave = true) {
    OpCall call{.op = &matmul_op,
                .attrs = {{"transpose_b", true}, {"int8_operands", leave}},
                .inputs = {TensorType{Shape{m, k}}, TensorType{Shape{n, k}, weights}, std::nullopt, std::nullopt},
                .outputs = {}};
    call.outputs = call.op->infer(call);
    return call;
}

std::string chosen(const OpCall& call, const Caps& caps) { return choose_kernel(call, caps)->name; }

const Kernel& kernel_of(const OpCall& call, std::string_view name) {
    for (const Kernel& kernel : call.op->kernels)
        if (name == kernel.name) return kernel;
    FAIL("matmul has no kernel " << name);
    return call.op->kernels.front();
}

params::MatmulParams params_of(const Launch& launch) {
    params::MatmulParams p;
    REQUIRE(launch.params.size() == sizeof p);
    std::memcpy(&p, launch.params.data(), sizeof p);
    return p;
}

}  // namespace

TEST_CASE("rows are rounded to bytes only by leave, for quantised weights, where that is fast", "[graph][packed]") {
    const Caps caps = byte_products();
    const bool built = has_family("integer_dot");
    CHECK(chosen(product(64, 64, 64, DType::q8_0), caps) == (built ? "int8" : "tiled"));
    CHECK(chosen(product(64, 64, 64, DType::q4_0), caps) == (built ? "int8" : "tiled"));
    CHECK(chosen(product(4, 64, 64, DType::q8_0), caps) == (built ? "int8_rows" : "quantized_subgroup"));
    CHECK(chosen(product(1, 64, 64, DType::q8_0), caps) == (built ? "int8_rows" : "quantized_subgroup"));
    CHECK(chosen(product(64, 64, 64, DType::q8_0, false), caps) == "tiled");
    CHECK(chosen(product(4, 64, 64, DType::q8_0, false), caps) == "quantized_subgroup");
    CHECK(chosen(product(64, 64, 64, DType::f16), caps) == "tiled");
    CHECK(chosen(product(64, 64, 48, DType::q8_0), caps) == "tiled");  // not whole blocks
    CHECK(chosen(product(64, 64, 64, DType::q8_0), graphics_card()) == "tiled");
    Caps emulated = caps;
    emulated.integer_dot_accelerated = false;
    CHECK(chosen(product(64, 64, 64, DType::q8_0), emulated) == "tiled");
}

TEST_CASE("products of packed bytes: rows are rounded first, every cell is computed, within a device's limits",
          "[graph][packed]") {
    Caps narrow = narrow_subgroups();
    narrow.integer_dot = true;
    for (const Caps& caps : {byte_products(), narrow})
        for (const DType type : {DType::q8_0, DType::q4_0})
            for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
                     {1, 1, 32}, {5, 37, 96}, {9, 70, 64}, {130, 257, 1056}, {33, 64, 4096}, {512, 4096, 4096}}) {
                const OpCall call = product(m, n, k, type);
                const bool few = m <= 8;
                const Kernel& kernel = kernel_of(call, few ? "int8_rows" : "int8");
                INFO(caps.name << ", " << m << "x" << n << "x" << k << " " << name_of(type));
                REQUIRE(kernel.fits(call, caps));
                const LaunchPlan plan = kernel.launch(call, caps);
                const bool one = m == 1;  // it is rounded by the lanes that multiply it
                REQUIRE(plan.launches.size() >= (one ? 1 : 2));
                const Launch& multiply = plan.launches[one ? 0 : 1];
                if (!one) {  // the rounding: a block an invocation; a byte an element and a float a block
                    const Launch& round = plan.launches[0];
                    const std::uint32_t lanes = params::MatmulConstants::of(round.spec).lanes;
                    CHECK(std::int64_t{round.groups[0]} * round.groups[1] * lanes * 32 >= m * k);
                    CHECK(round.operands.back().kind == Operand::scratch);
                    CHECK(multiply.operands.front().kind == Operand::scratch);
                    CHECK(multiply.operands.front().index == round.operands.back().index);
                    CHECK(plan.scratch.at(round.operands.back().index) ==
                          static_cast<std::uint64_t>(m * k + m * k / 8));
                }
                // The product: parts of whole blocks that make up k, tiles (or rows and 4 columns) that cover c.
                const params::MatmulParams p = params_of(multiply);
                CHECK(p.k_per_split * (p.k_splits - 1) < k);
                CHECK(std::int64_t{p.k_per_split} * p.k_splits >= k);
                if (p.k_splits > 1) CHECK(p.k_per_split % 32 == 0);
                CHECK(plan.launches.size() == (p.k_splits > 1 ? 3 : one ? 1 : 2));
                const auto rows = params::MatmulQuantizedRowsConstants::of(multiply.spec);
                const auto tile = params::MatmulInt8Constants::of(multiply.spec);
                CHECK(multiply.groups[2] == (few ? (m + rows.ROWS - 1) / rows.ROWS : p.k_splits));
                CHECK(std::int64_t{multiply.groups[0]} * (few ? rows.COLS : 64) >= n);
                if (!few) CHECK(std::int64_t{multiply.groups[1]} * 16 * tile.EACH_ROWS >= m);
                CHECK(rows.lanes <= caps.max_workgroup_invocations);
            }
}
