// Traces: what is written is JSON that says what went in.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/base/files.h"
#include "runtime/io/chrome_trace.h"
#include "tests/host/temporary_directory.h"
#include "vantage/error.h"

using namespace vantage;
using nlohmann::json;

TEST_CASE("a trace can be read back", "[io]") {
    ChromeTrace trace("vantage run");
    trace.span("host", "tokenize \"a\\b\"\n", 0.5, 12.25);
    trace.span("device", "matmul", 20, 100.5,
               {{"kernel", std::string("matmul_tiled")}, {"flops", std::int64_t{1} << 40}, {"share", 0.5}});
    trace.span("host", "bad \xff byte", 13, -1);
    trace.counter("memory", 14, 1.5e9);
    const test::TemporaryDirectory directory;
    trace.write(directory.path("trace.json"));

    const json parsed = json::parse(read_file(directory.path("trace.json")));
    std::map<std::string, json> named;
    std::map<int, std::string> tracks;
    for (const json& event : parsed.at("traceEvents")) {
        CHECK(event.at("pid") == 1);
        if (event.at("name") == "process_name") CHECK(event.at("args").at("name") == "vantage run");
        if (event.at("name") == "thread_name") tracks[event.at("tid")] = event.at("args").at("name");
        if (event.at("ph") != "M") named[event.at("name")] = event;
    }
    REQUIRE(named.size() == 4);
    const json& matmul = named.at("matmul");
    CHECK(matmul.at("ph") == "X");
    CHECK(tracks.at(matmul.at("tid")) == "device");
    CHECK(matmul.at("ts") == 20);
    CHECK(matmul.at("dur") == 100.5);
    CHECK(matmul.at("args") == json({{"kernel", "matmul_tiled"}, {"flops", std::int64_t{1} << 40}, {"share", 0.5}}));
    const json& tokenize = named.at("tokenize \"a\\b\"\n");
    CHECK(tracks.at(tokenize.at("tid")) == "host");
    CHECK(tokenize.at("dur") == 12.25);
    CHECK(named.at("bad \xef\xbf\xbd byte").at("dur") == 0);
    CHECK(named.at("memory").at("ph") == "C");
    CHECK(named.at("memory").at("args").at("memory") == 1.5e9);
}

TEST_CASE("an empty trace, and numbers that JSON has not, are still JSON", "[io]") {
    CHECK(json::parse(ChromeTrace().text()).at("traceEvents").size() == 1);
    ChromeTrace trace;
    trace.span("host", "x", 0, 1, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
    CHECK(json::parse(trace.text()).at("traceEvents").back().at("args").at("loss").is_null());
}

TEST_CASE("spans of several threads all arrive", "[io]") {
    ChromeTrace trace;
    const auto work = [&](const char* track) {
        for (int i = 0; i < 500; ++i) trace.span(track, "step", i, 1);
    };
    std::thread first(work, "a"), second(work, "b");
    first.join();
    second.join();
    CHECK(json::parse(trace.text()).at("traceEvents").size() == 1005);
}

TEST_CASE("a trace that cannot be written says so", "[io]") {
    CHECK_THROWS_AS(ChromeTrace().write(test::TemporaryDirectory().path("nowhere/trace.json")), Error);
}
