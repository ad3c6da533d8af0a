// Tables of measured choices on disk: written whole, read with suspicion.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>

#include "expect_error.h"
#include "own_cache.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/graph/kernel_names.h"
#include "runtime/graph/op_def.h"
#include "runtime/measure/measure.h"

using namespace vantage;

namespace {

Caps some_device() {
    Caps caps;
    caps.name = "made-up GPU";
    caps.driver = "made-up driver";
    caps.driver_version = "Mesa 25.1.2";
    caps.uuid = {1, 2, 3};
    return caps;
}

/// Counts the lines of the log while it lives.
class LinesOfLog {
public:
    LinesOfLog() {
        set_log([this](LogLevel, const std::string& line) {
            if (test::contains(line, "not used")) ++count;
        });
    }
    ~LinesOfLog() { set_log({}); }
    int count = 0;
};

}  // namespace

TEST_CASE("samples in figures: median, and how far the others lie from it", "[measure]") {
    const Measurement m = measurement_of({5, 1, 2, 90, 4});
    CHECK(m.median == 4);
    CHECK(m.deviation == 2);  // of 1, 3, 2, 86, 0
    CHECK(m.min == 1);
    CHECK(m.max == 90);
    CHECK(m.lower_quartile == 2);
    CHECK(m.upper_quartile == 5);
    CHECK(m.samples == std::vector<double>{5, 1, 2, 90, 4});
    CHECK(measurement_of({1, 2}).median == 1.5);
}

TEST_CASE("tuning files: a round trip, and what makes them unusable", "[tuning]") {
    const test::OwnCache cache;
    const Caps caps = some_device();
    const std::string path = own_tuning_path(caps);
    TuningFile file{.device = TunedDevice::of(caps), .table = {}};
    file.table.calls["add(f32 [1])"] = {.kernel = "plain", .seconds = {{"plain", 2e-3}, {"wrong", std::nullopt}}};
    CHECK(own_tuning(caps) == TuningTable{});
    add_to_own_tuning(caps, file.table);
    CHECK(own_tuning(caps) == file.table);

    TuningFile more{.device = file.device, .table = {}};
    more.table.calls["add(f32 [2])"] = {.kernel = "plain", .seconds = {{"plain", 1e-3}}};
    add_to_own_tuning(caps, more.table);
    CHECK(own_tuning(caps).calls.size() == 2);

    const LinesOfLog lines;
    SECTION("damaged") {
        const std::string whole = read_file(path);
        for (std::size_t length = 0; length < whole.size() - 1; length += 7) {
            write_file(path, whole.substr(0, length));
            CHECK(own_tuning(caps).calls.empty());
        }
        CHECK(lines.count > 10);  // a line each
        for (const char* text :
             {"[]", "{}", R"({"vantage_tuning":2,"device":{},"calls":{}})",
              R"({"vantage_tuning":1,"device":{"name":1,"driver":"","driver_version":""},"calls":{}})"}) {
            write_file(path, std::string(text));
            CHECK(own_tuning(caps).calls.empty());
        }
        for (const char* call : {"7", "{}", R"({"kernel":"a"})", R"({"kernel":"a","microseconds":{"a":"b"}})",
                                 R"({"kernel":"a","microseconds":{"a":-1}})"}) {
            test::expect_error(ErrorKind::bad_file, {"tuning.json"}, [&] {
                tuning_from_json(
                    R"({"vantage_tuning":1,"device":{"name":"","driver":"","driver_version":""},"calls":{"x":)" +
                        std::string(call) + "}}",
                    "tuning.json");
            });
        }
        add_to_own_tuning(caps, more.table);  // takes its place
        CHECK(own_tuning(caps) == more.table);
    }
    SECTION("of another device") {
        file.device.name += " 2";
        write_file(path, tuning_to_json(file));
        CHECK(own_tuning(caps) == TuningTable{});
        CHECK(lines.count == 1);
    }
    SECTION("a file that the user names is added to only where it is such a table") {
        const std::string named = path + ".named", config = R"({"model_type": "gpt2"})";
        add_to_tuning_file(named, file);
        add_to_tuning_file(named, more);
        CHECK_FALSE(std::filesystem::exists(named + ".lock"));
        CHECK(tuning_from_json(read_file(named), named).table.calls.size() == 2);
        file.device.name += " 2";
        const std::string before = read_file(named);
        test::expect_error(ErrorKind::bad_file, {named.c_str(), "made-up GPU 2"},
                           [&] { add_to_tuning_file(named, file); });
        CHECK(read_file(named) == before);
        write_file(named, config);
        test::expect_error(ErrorKind::bad_file, {named.c_str()}, [&] { add_to_tuning_file(named, more); });
        CHECK(read_file(named) == config);
    }
    SECTION("forgotten") {
        CHECK(forget_own_tuning(caps));
        CHECK_FALSE(forget_own_tuning(caps));
        CHECK(own_tuning(caps) == TuningTable{});
    }
}

TEST_CASE("tuning files with the old names of kernels are read", "[tuning]") {
    const std::string text =
        R"-({"vantage_tuning": 1, "device": {"name": "", "driver": "", "driver_version": ""}, "calls": {
"matmul(f32 [1, 8])": {"kernel": "columns", "microseconds": {"columns": 3, "packed": 4, "plain": 5}},
"linear_attention(f32 [1])": {"kernel": "lanes", "microseconds": {"lanes": 3}}}})-";
    const TuningTable table = tuning_from_json(text, "tuning.json").table;
    const TunedCall& matmul = table.calls.at("matmul(f32 [1, 8])");
    CHECK(matmul.kernel == "gemv_cpu");
    CHECK(matmul.seconds.size() == 3);
    for (const char* kernel : {"gemv_cpu", "int8", "plain"}) CHECK(matmul.seconds.count(kernel) == 1);
    CHECK(table.calls.at("linear_attention(f32 [1])").kernel == "lanes");  // not a renamed kernel of this op
}

TEST_CASE("renamed kernels have their new names, and no kernel has an old one", "[tuning]") {
    const auto has = [](const OpDef& op, const std::string& name) {
        return std::ranges::any_of(op.kernels, [&](const Kernel& kernel) { return kernel.name == name; });
    };
    for (const OpDef* op : all_ops()) {
        INFO(op->name);
        for (const Kernel& kernel : op->kernels) CHECK(current_kernel_name(op->name, kernel.name) == kernel.name);
        for (const char* old_name :
             {"packed_rows", "columns", "quantized_lanes", "panels", "packed", "halves", "lanes"}) {
            INFO(old_name);
            const std::string name = current_kernel_name(op->name, old_name);
            CHECK((name == old_name || has(*op, name)));
        }
    }
    CHECK(current_kernel_name("attention", "lanes") == "cpu_simd");
    CHECK(current_kernel_name("", "panels") == "gemm_cpu");
}

TEST_CASE("installed tables are for kinds of devices", "[tuning]") {
    const TunedDevice here{"llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", "some"};
    const TunedDevice kind = here.of_its_kind();
    CHECK(kind == TunedDevice{"llvmpipe (LLVM 15.0.*, 256 bits)", "llvmpipe", "Mesa 22.3.* (LLVM 15.0.*)", ""});
    CHECK(kind.is(here));
    TunedDevice other = here;
    other.driver_version = "Mesa 23.3.6 (LLVM 15.0.6)";
    CHECK_FALSE(kind.is(other));
    other = here;
    other.name = "llvmpipe (LLVM 15.0.6, 512 bits)";
    CHECK_FALSE(kind.is(other));
}
