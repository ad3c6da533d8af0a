// Kernels of programs: in a graph, checked against their reference, and compiled again when their file changes.
#include "vantage/custom_kernel.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "runtime/base/spirv.h"
#include "runtime/gpu/faults.h"
#include "test_device.h"
#include "vantage/log.h"
#include "vantage/ops.h"
#include "vantage/plan.h"
#include "vantage/vulkan.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

KernelLayout doubling_layout() {
    return {.operands = {in(0), out(0)},
            .reference = [](const OpCall&, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
                for (std::size_t i = 0; i < inputs[0].data.size(); ++i)
                    outputs[0].data[i] = 2 * inputs[0].data[i] + 0.5;
            }};
}

}  // namespace

TEST_CASE("a kernel of the program runs in a graph, is timed by name and checked", "[plan][custom]") {
    const SpirvModule& module = *find_spirv("selftest");  // y = 2 x + add
    const CustomKernel twice = CustomKernel::spirv("twice", module.code, doubling_layout());
    Graph g;
    const Tensor x = g.input("x", {7, 11});
    const Tensor y = call(twice, {x}, {x.type()}, kernel_params(77u, 0.5f))[0];
    g.output("y", y + y);
    Plan plan(std::move(g), test_device(), {.profile = true});
    plan.fill("x", 3);
    plan.run();
    CHECK(plan.read("y").vector() == std::vector<float>(77, 13));
    REQUIRE(plan.timings().size() == 2);
    CHECK(plan.timings().front().op == "twice");
    CHECK(plan.timings().front().kernel == "custom");
    CHECK(plan.check(10).empty());
}

TEST_CASE("a check finds a kernel of the program that disagrees with its reference", "[plan][custom]") {
    const CustomKernel twice = CustomKernel::spirv("wrong", find_spirv("selftest")->code, doubling_layout());
    Graph g;
    const Tensor x = g.input("x", {5});
    g.output("y", call(twice, {x}, {x.type()}, kernel_params(5u, 0.75f))[0]);
    Plan plan(std::move(g), test_device());
    plan.fill("x", 1);
    const std::vector<Divergence> found = plan.check();
    REQUIRE(found.size() == 1);
    CHECK(found.front().node == "wrong");
    CHECK(found.front().message.find("2.75") != std::string::npos);
}

TEST_CASE("kernels and calls that make no sense are refused", "[plan][custom]") {
    const std::vector<std::uint32_t> junk(8, 1);
    expect_error(ErrorKind::usage, {"junk", "SPIR-V"}, [&] { CustomKernel::spirv("junk", junk, doubling_layout()); });
    const std::span<const std::uint32_t> code = find_spirv("selftest")->code;
    const auto refused = [&](std::vector<Operand> operands, std::uint32_t lanes, const char* what) {
        expect_error(ErrorKind::usage, {"odd", what},
                     [&] { CustomKernel::spirv("odd", code, {.operands = std::move(operands), .lanes = lanes}); });
    };
    refused({in(0)}, 64, "no output, out(0)");
    refused({in(0), out(0)}, 0, "no lanes");
    refused({in(0), out(1)}, 64, "out(1), but not out(0)");
    refused({in(0), in(2), out(0)}, 64, "in(2), but not in(1)");
    refused({in(0), out(0), {Operand::scratch, 0, Operand::writes}}, 64, "in(i), which is read");
    refused({{Operand::input, 0, Operand::writes}, out(0)}, 64, "in(i), which is read");
    refused(std::vector<Operand>(17, out(0)), 64, "17 operands");
    const CustomKernel wide = CustomKernel::spirv("wide", code, {.operands = {in(0), out(0)}, .lanes = 1 << 20});
    expect_error(ErrorKind::unsupported, {"wide", "1048576 lanes", "at most"}, [&] {
        Graph graph;
        const Tensor x = graph.input("x", {5});
        graph.output("y", call(wide, {x}, {x.type()}, kernel_params(5u, 0.5f))[0]);
        const Plan plan(std::move(graph), test_device());
    });
    const CustomKernel twice = CustomKernel::spirv("twice", code, doubling_layout());
    Graph g;
    const Tensor x = g.input("x", {5});
    expect_error(ErrorKind::usage, {"custom_kernel_test.cpp", "twice", "no input"},
                 [&] { call(twice, {Tensor()}, {x.type()}); });
    expect_error(ErrorKind::usage, {"custom_kernel_test.cpp", "twice", "2 result types"}, [&] {
        call(twice, {x}, {x.type(), x.type()});
    });
    expect_error(ErrorKind::usage, {"custom_kernel_test.cpp", "twice", "128"},
                 [&] { call(twice, {x}, {x.type()}, std::vector<std::byte>(120)); });
    expect_error(ErrorKind::usage, {"custom_kernel_test.cpp", "twice", "at most 1"}, [&] {
        call(twice, {x, x}, {x.type()});
    });
}

namespace {

std::string doubling_source(const std::string& expression) {
    return "#version 460\n"
           "#extension GL_EXT_buffer_reference : require\n"
           "#extension GL_EXT_buffer_reference_uvec2 : require\n"
           "layout(local_size_x = 64) in;\n"
           "layout(buffer_reference, std430) buffer Floats { float at[]; };\n"
           "layout(push_constant) uniform Push { uvec2 x, y; uint n; float add; } p;\n"
           "void main() {\n"
           "    uint i = gl_GlobalInvocationID.x;\n"
           "    if (i < p.n) Floats(p.y).at[i] = " +
           expression +
           ";\n"
           "}\n";
}

// A kernel in a file, in the middle of a graph: h = x + x, k = 2 h + 0.5, y = k + x.
struct KernelFile {
    TemporaryDirectory directory;
    std::string path = directory.path("doubling.comp");
    int changes = 0;
    std::optional<CustomKernel> kernel;
    std::string warnings;

    KernelFile() {
        save(good);
        try {
            kernel = CustomKernel::glsl_file(path, doubling_layout());
        } catch (const Error& error) {
            REQUIRE(error.kind() == ErrorKind::unsupported);
            SKIP(error.what());  // a build without glslang
        }
        set_log([this](LogLevel, const std::string& text) { warnings += text; });
    }
    ~KernelFile() { set_log({}); }

    static constexpr const char *good = "2.0 * Floats(p.x).at[i] + p.add",
                                *also_good = "Floats(p.x).at[i] + Floats(p.x).at[i] + p.add",
                                *wrong = "3.0 * Floats(p.x).at[i]";
    void save(const std::string& expression) {
        std::ofstream(path) << doubling_source(expression);
        const auto now = std::filesystem::last_write_time(path);
        std::filesystem::last_write_time(path, now + std::chrono::seconds(++changes));
    }
    Plan plan() const {
        Graph g;
        const Tensor x = g.input("x", {5}), k = call(*kernel, {x + x}, {x.type()}, kernel_params(5u, 0.5f))[0];
        g.output("y", k + x);
        Plan plan(std::move(g), test_device());
        plan.fill("x", 3);
        return plan;
    }
};
float y_of(Plan& plan) { return plan.run(), plan.read("y")(0); }

}  // namespace

TEST_CASE("a kernel in a file is compiled again when the file changes", "[plan][custom]") {
    KernelFile file;
    Plan plan = file.plan();
    file.save(KernelFile::also_good);  // before the first run: no value of the graph is computed yet
    CHECK(y_of(plan) == 15.5f);
    CHECK(file.warnings.empty());
    CHECK(y_of(plan) == 15.5f);
    file.save(KernelFile::wrong);
    CHECK(y_of(plan) == 15.5f);
    CHECK(file.warnings.find("want 12.5") != std::string::npos);
    file.warnings.clear();
    file.save("nonsense");
    CHECK(y_of(plan) == 15.5f);
    CHECK(file.warnings.find("nonsense") != std::string::npos);
    file.warnings.clear();
    CHECK(y_of(plan) == 15.5f);  // reported once
    CHECK(file.warnings.empty());
}

TEST_CASE("a submission that waits on the device takes new versions, too", "[plan][custom]") {
    const WithoutGuard without;
    KernelFile file;
    Plan plan = file.plan(), other = file.plan();
    CHECK(y_of(plan) == 15.5f);
    file.save(KernelFile::wrong);
    plan.wait(plan.submit(After{}).value);
    CHECK(plan.read("y")(0) == 21);
    CHECK(y_of(other) == 15.5f);  // compares and refuses it
    CHECK(file.warnings.find("want 12.5") != std::string::npos);
    plan.wait(plan.submit(After{}).value);
    CHECK(plan.read("y")(0) == 15.5f);
}

TEST_CASE("a version that the driver refuses does not replace the good one", "[plan][custom]") {
    const WithoutGuard without;
    KernelFile file;
    Plan plan = file.plan();
    CHECK(y_of(plan) == 15.5f);
    file.save(KernelFile::also_good);
    gpu::arm_fault(gpu::FaultPoint::any, 1, VK_ERROR_INITIALIZATION_FAILED);
    CHECK(y_of(plan) == 15.5f);
    CHECK_FALSE(gpu::fault_armed());
    CHECK(file.warnings.find("the last good version stays") != std::string::npos);
    file.warnings.clear();
    CHECK(y_of(plan) == 15.5f);

    // An error that says nothing of the version ends the run, and the next one tries the version again.
    file.save(KernelFile::wrong);
    gpu::arm_fault(gpu::FaultPoint::any, 1, VK_ERROR_OUT_OF_HOST_MEMORY);
    expect_error(ErrorKind::out_of_memory, {}, [&] { plan.run(); });
    CHECK(file.warnings.empty());
    CHECK(y_of(plan) == 15.5f);
    CHECK(file.warnings.find("want 12.5") != std::string::npos);
}

TEST_CASE("GLSL that does not compile is an error with the compiler's line", "[custom]") {
    const KernelFile skips_without_glslang;
    const auto error_of = [](const std::string& source) {
        return [source] { CustomKernel::glsl("scale", source, doubling_layout()); };
    };
    expect_error(ErrorKind::usage, {"kernel scale: ERROR: scale:9", "nonsense"}, error_of(doubling_source("nonsense")));
    expect_error(ErrorKind::usage, {"kernel scale: ERROR"}, error_of(""));
    expect_error(ErrorKind::usage, {"kernel scale: ERROR", "#include"},
                 error_of("#version 460\n#include \"/etc/passwd\"\n"));
}

TEST_CASE("threads compile GLSL at the same time", "[custom][threads]") {
    const KernelFile skips_without_glslang;
    std::atomic<int> compiled = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&compiled, thread] {
            const std::string name = "doubling " + std::to_string(thread);
            CustomKernel::glsl(name, doubling_source(KernelFile::good), doubling_layout());
            ++compiled;
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(compiled == 4);
}

TEST_CASE("a message about a kernel may ask the kernel", "[plan][custom]") {
    KernelFile file;
    Plan plan = file.plan();
    std::optional<Plan> made;
    set_log([&](LogLevel, const std::string&) { made = file.plan(); });  // launches ask for the current version
    file.save("nonsense");
    CHECK(y_of(plan) == 15.5f);
    REQUIRE(made.has_value());
    CHECK(y_of(*made) == 15.5f);
}
