// Reports of `vantage bench`: the four formats say the same, and compare tells change from noise.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <sstream>

#include "runtime/base/files.h"
#include "runtime/bench/compare_reports.h"
#include "runtime/bench/report.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;

namespace {

Caps some_caps() {
    Caps caps;
    caps.name = "Made-up GPU";
    caps.driver = "madeup";
    caps.driver_version = "1.2";
    caps.uuid[0] = 7;
    return caps;
}

Report two_rows() {
    Report report("ops", some_caps());
    report.row()
        .set("op", "matmul")
        .set("time_us", Spread{812.44, 3.1})
        .set("count", 3)
        .set("flops", 2.7e8, ShowIn::data_only)
        .set("note", "a | b, \"c\"");
    report.row()
        .set("op", "add")
        .set("time_us", Spread{7, std::nan("")})
        .set("clock", true)
        .set("rate", std::monostate{});
    report.note("one note");
    return report;
}

Json parsed(const Report& report) { return Json::parse(report_text(report, ReportFormat::json)); }

// A report with one kernel that takes `time` ± `deviation`.
Json timed(double time, double deviation, const std::string& kernel = "tiled") {
    Report report("ops", some_caps());
    report.row().set("op", "matmul").set("kernel", kernel).set("time_us", Spread{time, deviation});
    return parsed(report);
}

}  // namespace

TEST_CASE("a report as a table lines up and leaves out what is data only", "[bench]") {
    const std::string text = report_text(two_rows(), ReportFormat::md);
    CHECK(text.find("Made-up GPU, madeup 1.2; vantage ") == 0);
    CHECK(text.find("| op     |     time_us | count | note        | clock | rate |\n"
                    "| ------ | ----------: | ----: | ----------- | ----- | ---: |\n"
                    "| matmul | 812.4 ± 3.1 |     3 | a \\| b, \"c\" |       |      |\n"
                    "| add    |       7 ± - |       |             | yes   |      |\n") != std::string::npos);
    CHECK(text.find("flops") == std::string::npos);
    CHECK(text.ends_with("\none note\n"));
}

TEST_CASE("a report as JSON has the environment and every value", "[bench]") {
    const Json json = parsed(two_rows());
    CHECK(json.at("schema_version") == Report::schema_version);
    CHECK(json.at("kind") == "ops");
    CHECK(json.at("program").at("commit").is_string());
    CHECK(json.at("device").at("name") == "Made-up GPU");
    CHECK(json.at("device").at("max_shared_memory") == 16384);  // limits, too
    const Json& row = json.at("rows").at(0);
    CHECK(row.at("time_us") == 812.44);
    CHECK(row.at("time_us_spread") == 3.1);
    CHECK(row.at("count") == 3);
    CHECK(row.at("flops") == 2.7e8);
    CHECK(json.at("rows").at(1).at("time_us_spread").is_null());
    CHECK(json.at("rows").at(1).at("rate").is_null());
    CHECK(json.at("notes") == Json::array({"one note"}));
}

TEST_CASE("each JSON line and each line of CSV stands for itself", "[bench]") {
    std::istringstream lines(report_text(two_rows(), ReportFormat::jsonl));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        const Json row = Json::parse(line);
        CHECK(row.at("device") == "Made-up GPU");
        CHECK(row.at("driver_version") == "1.2");
        CHECK(row.contains("op"));
    }
    CHECK(count == 2);
    const std::string csv = report_text(two_rows(), ReportFormat::csv);
    CHECK(csv.find(",op,time_us,time_us_spread,count,flops,note,clock,rate\n") != std::string::npos);
    CHECK(csv.find(",matmul,812.44,3.1,3,270000000.0,\"a | b, \"\"c\"\"\",,\n") != std::string::npos);
    CHECK(csv.ends_with(",add,7.0,,,,,true,\n"));
}

TEST_CASE("numbers as people read them", "[bench]") {
    for (const auto& [value, text] : {std::pair{0.0, "0"},
                                      {1234567.0, "1234567"},
                                      {812.44, "812.4"},
                                      {99.996, "100"},
                                      {1.5, "1.5"},
                                      {0.01234, "0.012"},
                                      {0.000123, "0.00012"},
                                      {-3.14159, "-3.142"},
                                      {std::numeric_limits<double>::infinity(), "-"}})
        CHECK(short_number(value) == text);
    CHECK(report_format("jsonl") == ReportFormat::jsonl);
    test::expect_error(ErrorKind::usage, {}, [] { static_cast<void>(report_format("xml")); });
}

TEST_CASE("a report is written to a file whole", "[bench]") {
    const test::TemporaryDirectory directory;
    write_report(two_rows(), ReportFormat::json, directory.path("a.json"));
    CHECK(Json::parse(read_file(directory.path("a.json"))).at("rows").size() == 2);
}

TEST_CASE("compare tells what is slower from noise", "[bench]") {
    const auto verdict = [](const Json& before, const Json& after) {
        return compare_reports(before, "a", after, "b").changes.at(0).verdict;
    };
    CHECK(verdict(timed(100, 1), timed(120, 1)) == ReportChange::slower);
    CHECK(verdict(timed(120, 1), timed(100, 1)) == ReportChange::faster);
    CHECK(verdict(timed(100, 0), timed(101.9, 0)) == ReportChange::same);  // below 2 %
    CHECK(verdict(timed(100, 0), timed(102.1, 0)) == ReportChange::slower);
    // three times 1.4826 √(3² + 4²) = 22.2
    CHECK(verdict(timed(100, 3), timed(122, 4)) == ReportChange::same);
    CHECK(verdict(timed(100, 3), timed(123, 4)) == ReportChange::slower);
    CHECK(compare_reports(timed(100, 1), "a", timed(50, 1), "b").changes.at(0).speed == 2);
    CHECK(verdict(timed(5, 0), timed(0, 0)) == ReportChange::faster);
    CHECK(verdict(timed(0, 0), timed(5, 0)) == ReportChange::slower);
    const Json hostile = timed(1, 0, "\x1b]0;owned\a\u202e");
    const std::string row = compare_reports(hostile, "a", hostile, "b").changes.at(0).row;
    CHECK(row.find("\\x1b]0;owned\\x07\\x202e") != row.npos);
}

TEST_CASE("compare knows that rates are better when larger", "[bench]") {
    const auto rate = [](double value) {
        Report report("model", some_caps());
        report.row().set("test", "pp512").set("t_per_s", Spread{value, 0.5});
        return parsed(report);
    };
    const ReportComparison c = compare_reports(rate(100), "a", rate(80), "b");
    REQUIRE(c.changes.size() == 1);
    CHECK(c.changes[0].verdict == ReportChange::slower);
    CHECK(c.changes[0].speed == 0.8);
    CHECK(compare_reports(rate(0), "a", rate(100), "b").changes.at(0).verdict == ReportChange::faster);
}

TEST_CASE("compare takes the spread of a mean for the standard deviation that it is", "[bench]") {
    for (const char* kind : {"model", "train"}) {
        const auto verdict = [&](double before, double after) {
            const auto rate = [&](double value) {
                Report report(kind, some_caps());
                report.row().set("test", "pp512").set("t_per_s", Spread{value, 5});
                return parsed(report);
            };
            return compare_reports(rate(before), "a", rate(after), "b").changes.at(0).verdict;
        };
        INFO(kind);
        CHECK(verdict(100, 121) == ReportChange::same);  // three times √(5² + 5²) = 21.2
        CHECK(verdict(100, 122) == ReportChange::faster);
    }
}

TEST_CASE("compare holds the n-th row of a name against the n-th", "[bench]") {
    const auto twice = [](double first, double second) {
        Json json = timed(first, 0);
        json["rows"].push_back(timed(second, 0)["rows"][0]);
        return json;
    };
    const ReportComparison c = compare_reports(twice(1, 10), "a", twice(1, 20), "b");
    REQUIRE(c.changes.size() == 2);
    CHECK(c.changes[0].verdict == ReportChange::same);
    CHECK(c.changes[1].verdict == ReportChange::slower);
    CHECK(c.changes[1].row == "matmul tiled #2");
    CHECK(compare_reports(twice(1, 10), "a", timed(1, 0), "b").only_before ==
          std::vector<std::string>{"matmul tiled #2"});
}

TEST_CASE("compare matches rows whose kernel was renamed", "[bench]") {
    const ReportComparison c = compare_reports(timed(100, 1, "panels"), "a", timed(50, 1, "gemm_cpu"), "b");
    REQUIRE(c.changes.size() == 1);
    CHECK(c.changes[0].row == "matmul gemm_cpu");
    CHECK(c.changes[0].speed == 2);
}

TEST_CASE("compare names rows without a partner, and refuses what cannot be compared", "[bench]") {
    Json tiled = timed(1, 0), plain = timed(1, 0, "plain");
    tiled["rows"].push_back(timed(1, 0, "both")["rows"][0]);
    plain["rows"].push_back(timed(1, 0, "both")["rows"][0]);
    const ReportComparison apart = compare_reports(tiled, "a", plain, "b");
    CHECK(apart.changes.size() == 1);
    CHECK(apart.only_before == std::vector<std::string>{"matmul tiled"});
    CHECK(apart.only_after == std::vector<std::string>{"matmul plain"});
    // without a row of both, or without spreads, a comparison would say that all is well
    test::expect_error(ErrorKind::usage, {"nothing to compare"},
                       [] { compare_reports(timed(1, 0), "a", timed(1, 0, "plain"), "b"); });
    test::expect_error(ErrorKind::usage, {"nothing to compare"},
                       [] { compare_reports(timed(1, std::nan("")), "a", timed(2, std::nan("")), "b"); });

    Json other = timed(1, 0);
    other["device"]["name"] = "Another GPU";
    test::expect_error(ErrorKind::usage, {}, [&] { compare_reports(timed(1, 0), "a", other, "b"); });
    CHECK(compare_reports(timed(1, 0), "a", other, "b", true).warnings.size() == 1);
    Json newer = timed(1, 0);
    newer["device"]["driver_version"] = "1.3";
    CHECK(compare_reports(timed(1, 0), "a", newer, "b").warnings.at(0) ==
          "the driver was madeup 1.2 and is madeup 1.3");
    newer["schema_version"] = Report::schema_version + 1;
    test::expect_error(ErrorKind::bad_file, {}, [&] { compare_reports(timed(1, 0), "a", newer, "b"); });
    Json model = timed(1, 0);
    model["kind"] = "model";
    test::expect_error(ErrorKind::usage, {}, [&] { compare_reports(timed(1, 0), "a", model, "b"); });
    test::expect_error(ErrorKind::bad_file, {}, [&] { compare_reports(Json::array(), "a", model, "b"); });
}
