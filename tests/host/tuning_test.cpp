// Measured choices as plain data: which calls share one, when it counts, and what is noise.
#include <catch2/catch_test_macros.hpp>

#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/tuning.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/matmul.h"
#include "tests/host/made_up_devices.h"

using namespace vantage;
using namespace vantage::test;

namespace {

OpCall matmul(std::int64_t m, std::int64_t k, std::int64_t n, DType weights = DType::f32, Attrs attrs = {}) {
    attrs.set("transpose_b", true);
    OpCall call{.op = &matmul_op,
                .attrs = attrs,
                .inputs = {TensorType{Shape{m, k}}, TensorType{Shape{n, k}, weights}, std::nullopt, std::nullopt},
                .outputs = {}};
    call.outputs = call.op->infer(call);
    return call;
}

/// A run of `n` tokens with a cache of `held`.
OpCall attention(std::int64_t n, std::int64_t held, std::int64_t heads, DType cache = DType::f16) {
    OpCall call{.op = &attention_op,
                .attrs = {{"causal", true}, {"scale", 0.125}},
                .inputs = {TensorType{Shape{n, heads, 64}}, TensorType{Shape{held, heads, 64}, cache},
                           TensorType{Shape{held, heads, 64}, cache}, TensorType{Shape{32}, DType::u32}},
                .outputs = {}};
    call.inputs.resize(call.op->operands.size());
    call.outputs = call.op->infer(call);
    return call;
}

/// A table in which every kernel of the call's op was measured, and this one was the fastest.
TuningTable table_for(const OpCall& call, const char* kernel) {
    TuningTable table;
    TunedCall& tuned = table.calls[tuning_key(call)];
    tuned.kernel = kernel;
    for (const Kernel& k : call.op->kernels) tuned.seconds[k.name] = 1e-3;
    return table;
}

std::string chosen(const OpCall& call, const Caps& caps, const TuningTable* table) {
    return choose_kernel(call, caps, table)->name;
}

}  // namespace

TEST_CASE("calls that run alike have one key, others have another", "[tuning]") {
    CHECK(tuning_key(matmul(300, 768, 3072)) ==
          "matmul(f32 [512, 768], f32 [4096, 768], -, -; transpose_b) f32 [512, 3072]");
    CHECK(tuning_key(matmul(300, 768, 3072)) == tuning_key(matmul(512, 768, 3072)));
    CHECK(tuning_key(matmul(513, 768, 3072)) != tuning_key(matmul(512, 768, 3072)));
    for (std::int64_t rows = 1; rows < 16; ++rows)  // kernels for few rows differ from row to row
        CHECK(tuning_key(matmul(rows, 768, 3072)) != tuning_key(matmul(rows + 1, 768, 3072)));
    CHECK(tuning_key(matmul(512, 768, 3072)) != tuning_key(matmul(512, 768, 3076)));
    CHECK(tuning_key(matmul(512, 768, 3072)) != tuning_key(matmul(512, 764, 3072)));
    CHECK(tuning_key(matmul(512, 768, 3072)) != tuning_key(matmul(512, 768, 3072, DType::f16)));
    // options count, the values of real ones do not
    const std::string plain = tuning_key(matmul(512, 768, 3072));
    CHECK(tuning_key(matmul(512, 768, 3072, DType::f32, {{"activation", std::string("silu")}})) != plain);
    CHECK(tuning_key(matmul(512, 768, 3072, DType::f32, {{"alpha", 2.0}})) != plain);
    CHECK(tuning_key(matmul(512, 768, 3072, DType::f32, {{"alpha", 2.0}})) ==
          tuning_key(matmul(512, 768, 3072, DType::f32, {{"alpha", 3.0}})));
    // a plan runs with every filling of its cache: how much that holds does not count
    CHECK(tuning_key(attention(1, 1024, 12)) == tuning_key(attention(1, 4096, 12)));
    CHECK(tuning_key(attention(1, 1024, 12)) != tuning_key(attention(1, 1024, 16)));
    CHECK(tuning_key(attention(1, 1024, 12)) != tuning_key(attention(1, 1024, 12, DType::f32)));
}

TEST_CASE("a measured choice goes before the usual one, where it can run", "[tuning]") {
    const OpCall call = matmul(512, 768, 3072);
    const std::string default_kernel = chosen(call, graphics_card(), nullptr);
    REQUIRE(default_kernel != "plain");
    const TuningTable table = table_for(call, "plain");
    CHECK(chosen(call, graphics_card(), &table) == "plain");
    CHECK(chosen(matmul(300, 768, 3072), graphics_card(), &table) == "plain");  // the same key
    CHECK(chosen(matmul(512, 768, 768), graphics_card(), &table) != "plain");   // not measured

    SECTION("a kernel that does not exist") {
        const TuningTable unknown = table_for(call, "wonderful");
        CHECK(chosen(call, graphics_card(), &unknown) == default_kernel);
    }
    SECTION("a kernel that does not fit") {
        const TuningTable unfit = table_for(call, "rows");  // of 8 rows at most
        CHECK(chosen(call, graphics_card(), &unfit) == default_kernel);
    }
    SECTION("a kernel that the device does not provide") {
        const OpCall row = matmul(1, 768, 3072);
        const TuningTable subgroup = table_for(row, "rows_subgroup");
        Caps without = graphics_card();
        without.subgroup_arithmetic = false;
        CHECK(chosen(row, without, &subgroup) == chosen(row, without, nullptr));
    }
    SECTION("a table that is older than one of the kernels") {
        TuningTable older = table;
        older.calls.begin()->second.seconds.erase(default_kernel);
        CHECK(chosen(call, graphics_card(), &older) == default_kernel);
    }
    SECTION("a kernel that was rejected is known") {
        TuningTable rejected = table;
        rejected.calls.begin()->second.seconds[default_kernel].reset();
        CHECK(chosen(call, graphics_card(), &rejected) == "plain");
    }
}

TEST_CASE("of two tables the one that is merged later counts", "[tuning]") {
    const OpCall call = matmul(512, 768, 3072), other = matmul(512, 768, 768);
    TuningTable installed = table_for(call, "plain");
    installed.merge(table_for(other, "plain"));
    const std::string default_kernel = chosen(call, graphics_card(), nullptr);
    installed.merge(table_for(call, default_kernel.c_str()));
    CHECK(chosen(call, graphics_card(), &installed) == default_kernel);
    CHECK(chosen(other, graphics_card(), &installed) == "plain");
}

TEST_CASE("a gain has to be larger than noise", "[tuning]") {
    const auto gain = [](double candidate, double scatter, double baseline, double baseline_scatter) {
        return faster_beyond_noise({candidate, candidate - scatter, candidate + scatter},
                                   {baseline, baseline - baseline_scatter, baseline + baseline_scatter});
    };
    CHECK(gain(0.90, 0.01, 1, 0.01));
    CHECK_FALSE(gain(0.96, 0, 1, 0));        // less than 5 %
    CHECK_FALSE(gain(0.90, 0.06, 1, 0.06));  // quartiles overlap
    CHECK(gain(0.02, 0.01, 1, 0.9));         // far apart, however much the slower one scatters
    CHECK_FALSE(gain(1.10, 0, 1, 0));
}
