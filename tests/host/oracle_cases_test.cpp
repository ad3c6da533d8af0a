// Cases from files: those that contradict themselves. tests/device/oracle_ops_test.cpp runs the oracle's.
#include <catch2/catch_test_macros.hpp>

#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/conform/oracle_cases.h"
#include "runtime/io/safetensors.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;

namespace {

using CaseShapes = std::map<std::string, std::vector<std::int64_t>>;

/// Reads a case with operands and results of these shapes, all elements 0.
OracleCase case_of(const std::string& op, const Json& attrs, const CaseShapes& inputs, const CaseShapes& outputs) {
    const test::TemporaryDirectory folder;
    const std::vector<std::byte> zeros(1 << 16);
    std::vector<TensorToWrite> tensors;
    Json entry{{"name", "x"}, {"op", op}, {"attrs", attrs}};
    for (const auto& [list, shapes] : {std::pair{"inputs", &inputs}, {"outputs", &outputs}}) {
        entry[list] = Json::object();
        for (const auto& [name, shape] : *shapes) {
            std::int64_t count = 4;
            for (const std::int64_t size : shape) count *= size;
            entry[list][name] = std::string(list) + name;
            tensors.push_back(
                {std::string(list) + name, "F32", shape, std::span(zeros).first(static_cast<std::size_t>(count))});
        }
    }
    write_safetensors(folder.path("ops.safetensors"), tensors);
    write_file(folder.path("ops.json"), Json{{"cases", {entry}}}.dump());
    return read_oracle_cases(folder.path()).at(0);
}

}  // namespace

TEST_CASE("cases from files whose shapes contradict each other are refused", "[oracle]") {
    const CaseShapes qkv{{"q", {1, 2, 5, 4}}, {"k", {1, 2, 7, 4}}, {"v", {1, 2, 7, 4}}};
    CaseShapes results{{"o", {1, 2, 5, 4}}, {"lse", {1, 2, 5}}, {"p", {1, 2, 5, 7}}};
    CHECK(case_of("attention", Json::object(), qkv, results).not_supported.empty());
    for (const auto& [name, shape] : CaseShapes{{"p", {1, 2, 5, 0}}, {"lse", {1, 5, 2}}}) {
        CaseShapes wrong = results;
        wrong[name] = shape;
        test::expect_error(ErrorKind::bad_file, {"ops.json: case x: output", name.c_str(), "wanted [1, 2, 5"},
                           [&] { case_of("attention", Json::object(), qkv, wrong); });
    }
    test::expect_error(ErrorKind::bad_file, {"case x: input \"x\" has no dimensions"}, [] {
        case_of("softmax", Json::object(), {{"x", {}}}, {{"y", {}}});
    });
    const CaseShapes luong{{"q", {2, 3}}, {"k", {2, 4}}, {"w", {5, 6}}, {"v", {5}}};
    CHECK_FALSE(case_of("luong_attention", {{"score", "concat"}}, luong, {{"scores", {2, 2}}}).not_supported.empty());
    const CaseShapes patches{{"x", {1, 3, 4, 4}}, {"w", {0, 3, 2, 2}}};
    CHECK_FALSE(case_of("patch_embed", {{"patch", 2}}, patches, {{"y", {1, 4, 0}}}).not_supported.empty());
    const CaseShapes experts{{"x", {3, 4}}, {"gate", {2, 4}}};
    CHECK_FALSE(case_of("switch_route", Json::object(), experts, {{"expert", {5}}, {"prob", {3}}, {"slot", {3}}})
                    .not_supported.empty());
}
