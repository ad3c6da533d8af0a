// What `vantage bench model` and --profile compute on the host: names, rates, quality, tables; shapes of models; spans;
// programs.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "expect_error.h"
#include "runtime/base/program.h"
#include "runtime/base/trace_span.h"
#include "runtime/bench/model_bench.h"
#include "runtime/bench/op_profile.h"
#include "runtime/bench/quality.h"
#include "runtime/cost/cost.h"
#include "runtime/models/config.h"
#include "runtime/models/shapes.h"
#include "temporary_directory.h"

using namespace vantage;
using Catch::Approx;

TEST_CASE("Named shapes have the parameters that are published for their models") {
    const std::pair<const char*, std::uint64_t> published[] = {
        {"gpt2-small", 124'439'808},     {"llama-1b", 1'235'814'400}, {"llama-8b", 8'030'261'248},
        {"gpt-oss-20b", 20'914'757'184}, {"mamba-130m", 129'135'360}, {"bert-base", 109'482'240}};
    REQUIRE(named_shapes().size() == std::size(published));
    for (const auto& [name, parameters] : published) {
        std::uint64_t sum = 0;
        for (const RoleWeights& one : CostModel(parse_model_config(shape_named(name).config, name)).weights())
            sum += one.parameters;
        INFO(name);
        CHECK(sum == parameters);
    }
    CHECK_THROWS_AS(shape_named("gpt5"), Error);
}

TEST_CASE("Tests of models are called as in llama-bench") {
    CHECK(ModelTest{true, 512}.name() == "pp512");
    CHECK(ModelTest{false, 128}.name() == "tg128");
    CHECK(ModelTest{true, 512, 4096}.name() == "pp512 @ d4096");
    CHECK(ModelTest{false, 16, 8, 4}.name() == "tg16 @ d8 x4");
}

TEST_CASE("Rates are the mean of the repeats' rates, with the deviation of a sample") {
    const ModelTimes times{.seconds = {1, 2, 4}, .tokens = 8};  // 8, 4 and 2 tokens a second
    CHECK(times.tokens_per_second().value == Approx(14.0 / 3));
    CHECK(times.tokens_per_second().spread == Approx(std::sqrt((100.0 + 4 + 64) / 9 / 2)));
    CHECK(times.median() == Approx(4));
    for (const std::vector<double>& few : {std::vector<double>{0.5}, {0.5, 0.6}})  // say nothing of noise
        CHECK(std::isnan(ModelTimes{.seconds = few, .tokens = 8}.tokens_per_second().spread));
}

TEST_CASE("Quality is what the distributions say") {
    // two tokens of a vocabulary of two: p = (1/2, 1/2) and (3/4, 1/4); q = (1/4, 3/4) twice
    const float half[] = {1, 1, std::log(3.0f), 0}, quarter[] = {0, std::log(3.0f), 5, 5 + std::log(3.0f)};
    const std::int32_t targets[] = {0, 1};
    QualityMeter meter, same;
    meter.add(half, quarter, targets);
    same.add(half, half, targets);
    const Quality found = meter.quality();
    CHECK(found.tokens == 2);
    CHECK(found.nats == Approx((std::log(4.0) + std::log(4.0 / 3)) / 2));
    CHECK(found.perplexity() == Approx(std::sqrt(4 * 4.0 / 3)));
    const double first = 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3),
                 second = 0.75 * std::log(3.0) + 0.25 * std::log(1.0 / 3);
    CHECK(found.divergence == Approx((first + second) / 2));
    CHECK(found.same_top == 0);
    CHECK(same.quality().divergence == Approx(0).margin(1e-15));
    CHECK(same.quality().same_top == 1);
    CHECK(same.quality().nats == Approx((std::log(2.0) + std::log(4.0)) / 2));
}

TEST_CASE("Dispatches are added up by op and kernel, what takes longest first") {
    const DispatchTiming timings[] = {
        {.label = "a", .begin_ns = 0, .end_ns = 1000, .op = "add", .kernel = "plain", .bytes_read = 4000},
        {.label = "b",
         .begin_ns = 1000,
         .end_ns = 4000,
         .op = "matmul",
         .kernel = "rows",
         .flops = 6000,
         .bytes_read = 300},
        {.label = "c", .begin_ns = 4000, .end_ns = 4500},
        {.label = "d",
         .begin_ns = 5000,
         .end_ns = 6000,
         .op = "matmul",
         .kernel = "rows",
         .flops = 2000,
         .bytes_read = 100}};
    const std::vector<OpTime> ops = time_by_op(timings);
    REQUIRE(ops.size() == 3);
    CHECK((ops[0].op == "matmul" && ops[0].dispatches == 2 && ops[1].op == "add" && ops[2].op == "grids"));
    CHECK(ops[0].seconds == Approx(4e-6));
    CHECK(ops[0].flops == Approx(8000));
    // 8000 operations in 4 us are 2 GFLOP/s, half of a roof of 4; 4000 bytes in 1 us are 4 GB/s of 8
    Roofs roofs;
    roofs.f32_gflops = 4, roofs.memory = {{.bytes = 1024, .copy_gb_per_s = 2, .read_gb_per_s = 8}};
    const std::string table = profile_table(ops, roofs);
    INFO(table);
    CHECK(table.find("matmul") < table.find("add"));
    CHECK(table.find("  2      0.1   50 %") != std::string::npos);
    CHECK(table.find("  4   50 %") != std::string::npos);
    CHECK(profile_table(ops, std::nullopt).find('%') == profile_table(ops, std::nullopt).rfind('%'));
}

TEST_CASE("Spans are told when they end, the inner one first, and cost nothing else") {
    std::vector<HostSpan> seen;
    { const TraceSpan nobody_listens("before"); }
    listen_to_spans([&](const HostSpan& span) { seen.push_back(span); });
    CHECK(timed("outer", [] {
              const TraceSpan inner("inner", Worker::driver);
              return 7;
          }) == 7);
    listen_to_spans({});
    { const TraceSpan nobody_listens("after"); }
    REQUIRE(seen.size() == 2);
    CHECK((seen[0].name == "inner" && seen[0].worker == Worker::driver && seen[1].name == "outer"));
    CHECK((seen[1].begin <= seen[0].begin && seen[0].begin <= seen[0].end && seen[0].end <= seen[1].end));
}

TEST_CASE("Programs are run with variables of their own, and what they write is returned") {
    const Finished finished =
        run_program({"/bin/sh", "-c", "printf '%s' \"$VANTAGE_TEST_WORD\"; exit 3"}, {{"VANTAGE_TEST_WORD", "a word"}});
    CHECK(finished.out == "a word");
    CHECK(finished.code == 3);
    CHECK(run_program({"/bin/sh", "-c", "kill -9 $$"}, {}).code == 137);
    const test::TemporaryDirectory folder;
    const std::string missing = folder.path("nowhere/program");
    test::expect_error(ErrorKind::bad_file, {missing.c_str()}, [&] { run_program({missing}, {}); });
}
