// Plans from outside: what a run asks for, values by name and by tensor, memory shared between plans, kernels of the program.
#include "vantage/plan.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "runtime/base/spirv.h"
#include "runtime/gpu/vulkan_calls.h"
#include "runtime/io/safetensors.h"
#include "test_device.h"
#include "vantage/custom_kernel.h"
#include "vantage/log.h"
#include "vantage/ops.h"
#include "vantage/vulkan.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

/// y = x w + b, x [2, 3].
struct Affine {
    Graph g;
    Tensor x = g.input("x", {2, 3}), w = g.weight("w", {3, 2}), b = g.weight("b", {2}), y = linear(x, w, b);
    Affine() { g.output("y", y); }
};

Plan doubling(const std::string& input, const std::string& output) {
    Graph g;
    const Tensor x = g.input(input, {4});
    g.output(output, x + x);
    return Plan(std::move(g), test_device());
}

std::vector<float> of(const Array& array) { return array.vector(); }

KernelLayout doubling_layout() {
    return {.operands = {in(0), out(0)},
            .reference = [](const OpCall&, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
                for (std::size_t i = 0; i < inputs[0].data.size(); ++i)
                    outputs[0].data[i] = 2 * inputs[0].data[i] + 0.5;
            }};
}

}  // namespace

TEST_CASE("a run names all inputs and weights that were never written", "[plan]") {
    Affine net;
    Plan plan(std::move(net.g), test_device());
    expect_error(ErrorKind::usage, {"input x", "weights w, b", "were never written", "fill"}, [&] { plan.run(); });
    expect_error(ErrorKind::usage, {"never written"}, [&] { plan.check(); });
    expect_error(ErrorKind::usage, {"y", "none has been made"}, [&] { static_cast<void>(plan.read("y")); });
    plan.write("x", {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
    plan.fill("b", 0);
    expect_error(ErrorKind::usage, {"weight w was never written"}, [&] { plan.run(); });
    plan.write("w", {1.f, 0.f, 0.f, 1.f, 1.f, 0.f});
    plan.run();
    CHECK(plan.read("y").shape() == Shape{2, 2});
    CHECK(of(plan.read("y")) == std::vector<float>{4, 2, 10, 5});
    plan.fill("b", 0.5);
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>{4.5f, 2.5f, 10.5f, 5.5f});
    CHECK(of(plan.read("y", rows(1, 1))) == std::vector<float>{10.5f, 5.5f});
    expect_error(ErrorKind::usage, {"y", "2"}, [&] { static_cast<void>(plan.read("y", rows(1, 2))); });
}

TEST_CASE("writing what cannot be written is an error", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {2});
    g.input("unused", {2});
    g.output("y", x + x);
    Plan plan(std::move(g), test_device());
    expect_error(ErrorKind::usage, {"unused", "not used by anything that runs"}, [&] {
        plan.write("unused", {1.f, 2.f});
    });
    expect_error(ErrorKind::usage, {"y", "computed"}, [&] { plan.write("y", {1.f, 2.f}); });
    expect_error(ErrorKind::usage, {"x is f32 [2]", "3 values"}, [&] { plan.write("x", {1.f, 2.f, 3.f}); });
    expect_error(ErrorKind::usage, {"x is f32 [2]", "[1, 2]"}, [&] { plan.write("x", Array({1, 2}, {1, 2})); });
    expect_error(ErrorKind::usage, {"z"}, [&] { plan.write("z", {1.f}); });
    Plan other = std::move(plan);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"plan", "moved from"}, [&] { plan.run(); });
    expect_error(ErrorKind::usage, {"plan", "moved from"}, [&] { static_cast<void>(plan.read("y")); });
    other.write("x", Array({2}, {1, 2}));
    other.run();
    CHECK(of(other.read("y")) == std::vector<float>{2, 4});
}

TEST_CASE("values are written and read by their tensors", "[plan]") {
    Affine net;
    Plan plan = compile(net.g, test_device());
    plan.write(net.x, {1.f, 0.f, 0.f, 0.f, 1.f, 0.f});
    plan.write(net.w, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
    plan.write(net.b, {1.f, 1.f});
    plan.run();
    CHECK(of(plan.read(net.y)) == std::vector<float>{2, 3, 4, 5});
    expect_error(ErrorKind::usage, {"empty tensor"}, [&] { plan.write(Tensor(), {1.f}); });
    expect_error(ErrorKind::usage, {"not one of the graph"}, [&] { plan.write(Affine().b, {1.f, 1.f}); });
    const Tensor late = net.g.input("late", {2});
    expect_error(ErrorKind::usage, {"not one of the graph"}, [&] { plan.write(late, {1.f, 1.f}); });
}

TEST_CASE("tensors that a caller still holds cannot change a plan", "[plan]") {
    Affine net;
    Plan plan(std::move(net.g), test_device());
    for (int i = 0; i < 100; ++i) gelu(net.x);
    plan.fill("x", 1), plan.fill("w", 1), plan.fill("b", 0);
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>(4, 3));
}

TEST_CASE("differences and multiples of tensors", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {3}), c = g.constant("c", {3}, {1.f, 2.f, 4.f});
    g.output("y", 2.f * x - c);
    g.output("z", -(x * 0.5));
    Plan plan(std::move(g), test_device());
    plan.write("x", {3.f, 2.f, 1.f});
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>{5, 2, -2});
    CHECK(of(plan.read("z")) == std::vector<float>{-1.5f, -1, -0.5f});
}

TEST_CASE("weights are loaded by name", "[plan]") {
    const TemporaryDirectory directory;
    const std::vector<float> w{1, 2, 3, 4, 5, 6}, b{0.5f, 1};
    const auto bytes = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
    write_safetensors(directory.path("w.safetensors"),
                      {{"w", "F32", {3, 2}, bytes(w)}, {"else", "F32", {2}, bytes(b)}});
    write_safetensors(directory.path("b.safetensors"), {{"b", "F32", {2}, bytes(b)}});
    write_safetensors(directory.path("odd.safetensors"), {{"b", "F32", {1, 2}, bytes(b)}});
    Affine net;
    Plan plan(std::move(net.g), test_device());
    plan.write("x", {1.f, 0.f, 0.f, 0.f, 0.f, 1.f});
    plan.load(directory.path("w.safetensors"));
    expect_error(ErrorKind::usage, {"weight b was never written"}, [&] { plan.run(); });
    expect_error(ErrorKind::bad_file, {"odd.safetensors", "b is F32 [1, 2]", "[2]"},
                 [&] { plan.load(directory.path("odd.safetensors")); });
    plan.load(directory.path("b.safetensors"));
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>{1.5f, 3, 5.5f, 7});
}

TEST_CASE("two plans hand a tensor over on the device", "[plan]") {
    Plan first = doubling("x", "h"), second = doubling("h", "y");
    second.bind("h", first.buffer("h"));
    for (const float scale : {1.f, 3.f}) {
        first.write("x", {scale, 2 * scale, 3 * scale, 4 * scale});
        first.run();
        second.run();
        CHECK(of(second.read("y")) == std::vector<float>{4 * scale, 8 * scale, 12 * scale, 16 * scale});
    }
    const BufferView view = second.buffer("h");
    CHECK(view.address == first.buffer("h").address);
    CHECK(view.bytes == 16);
}

TEST_CASE("plans share memory, and wait for points in time, without the host", "[plan]") {
    Plan first = doubling("x", "h"), second = doubling("h", "y");
    second.bind("h", first.buffer("h"));
    first.write("x", {1.f, 2.f, 3.f, 4.f});
    const TimelinePoint made = first.submit(After{});
    const TimelinePoint done = second.submit(after(made));
    CHECK(done.value > made.value);
    CHECK(done.semaphore == timeline(test_device()).semaphore);
    second.wait(done.value);
    CHECK(of(second.read("y")) == std::vector<float>{4, 8, 12, 16});
}

TEST_CASE("a run begins when the host signals", "[plan]") {
    const WithoutGuard without;
    SharedTimeline* shared = nullptr;
    std::optional<SharedTimeline> made;
    try {
        made = SharedTimeline::create(test_device(), "start");
        shared = &*made;
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
    }
    if (shared == nullptr) return;
    Plan plan = doubling("x", "y");
    plan.write("x", {1.f, 2.f, 3.f, 4.f});
    plan.run();
    const TimelinePoint done = plan.submit(after({shared->handle(), 7}));
    std::uint64_t reached = 0;
    vkGetSemaphoreCounterValue(handles(test_device()).device, done.semaphore, &reached);
    CHECK(reached < done.value);
    VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, shared->handle(), 7};
    CHECK(vkSignalSemaphore(handles(test_device()).device, &signal) == VK_SUCCESS);
    plan.wait(done.value);
    CHECK(of(plan.read("y")) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("memory that does not fit is refused", "[plan]") {
    Plan plan = doubling("x", "y"), other = doubling("x", "y");
    other.fill("x", 1);
    const BufferView whole = other.buffer("x");
    BufferView small = whole, odd = whole;
    small.bytes = 8;
    odd.offset += 4, odd.address += 4;
    expect_error(ErrorKind::usage, {"x is f32 [4]", "16 bytes", "has 8"}, [&] { plan.bind("x", small); });
    expect_error(ErrorKind::usage, {"multiple of 16"}, [&] { plan.bind("x", odd); });
    expect_error(ErrorKind::usage, {"empty"}, [&] { plan.bind("x", BufferView()); });
    expect_error(ErrorKind::usage, {"y is computed"}, [&] { plan.bind("y", whole); });
    expect_error(ErrorKind::usage, {"intermediates of the same plan"}, [&] { plan.bind("x", plan.buffer("y")); });
    plan.bind("x", whole);
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>(4, 2));
}

TEST_CASE("a plan reads a buffer that the program made", "[plan]") {
    const VulkanHandles vulkan = handles(test_device());
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = 64;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    VkBuffer buffer = VK_NULL_HANDLE;
    REQUIRE(vkCreateBuffer(vulkan.device, &info, nullptr, &buffer) == VK_SUCCESS);
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(vulkan.device, buffer, &needs);
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(vulkan.physical, &memory);
    constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo wanted{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, needs.size, 0};
    while ((needs.memoryTypeBits >> wanted.memoryTypeIndex & 1) == 0 ||
           (memory.memoryTypes[wanted.memoryTypeIndex].propertyFlags & host) != host)
        ++wanted.memoryTypeIndex;
    VkDeviceMemory bytes = VK_NULL_HANDLE;
    REQUIRE(vkAllocateMemory(vulkan.device, &wanted, nullptr, &bytes) == VK_SUCCESS);
    REQUIRE(vkBindBufferMemory(vulkan.device, buffer, bytes, 0) == VK_SUCCESS);
    void* mapped = nullptr;
    REQUIRE(vkMapMemory(vulkan.device, bytes, 0, 64, 0, &mapped) == VK_SUCCESS);
    const std::vector<float> values{0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0};
    std::memcpy(mapped, values.data(), 64);
    {
        Plan plan = doubling("x", "y");
        plan.bind("x", view_of(test_device(), buffer, 16, 16));
        plan.run();
        CHECK(of(plan.read("y")) == std::vector<float>{2, 4, 6, 8});
        plan.write("x", {9.f, 9.f, 9.f, 9.f});
        CHECK(static_cast<const float*>(mapped)[4] == 9);
        CHECK(static_cast<const float*>(mapped)[3] == 0);
        CHECK(static_cast<const float*>(mapped)[8] == 0);
    }
    vkDestroyBuffer(vulkan.device, buffer, nullptr);
    vkFreeMemory(vulkan.device, bytes, nullptr);
}

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
    CHECK(of(plan.read("y")) == std::vector<float>(77, 13));
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
    expect_error(ErrorKind::usage, {"none", "output"},
                 [&] { CustomKernel::spirv("none", code, {.operands = {in(0)}}); });
    const CustomKernel twice = CustomKernel::spirv("twice", code, doubling_layout());
    Graph g;
    const Tensor x = g.input("x", {5});
    expect_error(ErrorKind::usage, {"plan_test.cpp", "twice", "no input"},
                 [&] { call(twice, {Tensor()}, {x.type()}); });
    expect_error(ErrorKind::usage, {"plan_test.cpp", "twice", "2 result types"}, [&] {
        call(twice, {x}, {x.type(), x.type()});
    });
    expect_error(ErrorKind::usage, {"plan_test.cpp", "twice", "128"},
                 [&] { call(twice, {x}, {x.type()}, std::vector<std::byte>(120)); });
    expect_error(ErrorKind::usage, {"plan_test.cpp", "twice", "at most 1"}, [&] { call(twice, {x, x}, {x.type()}); });
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

}  // namespace

TEST_CASE("a kernel in a file is compiled again when the file changes", "[plan][custom]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("doubling.comp");
    int changes = 0;
    const auto save = [&](const std::string& expression) {
        std::ofstream(path) << doubling_source(expression);
        std::filesystem::last_write_time(path,
                                         std::filesystem::last_write_time(path) + std::chrono::seconds(++changes));
    };
    save("2.0 * Floats(p.x).at[i] + p.add");
    std::optional<CustomKernel> kernel;
    try {
        kernel = CustomKernel::glsl_file(path, doubling_layout());
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);  // no glslang to be started here
        return;
    }
    Graph g;
    const Tensor x = g.input("x", {5});
    g.output("y", call(*kernel, {x}, {x.type()}, kernel_params(5u, 0.5f))[0]);
    Plan plan(std::move(g), test_device());
    std::string warnings;
    set_log([&](LogLevel, const std::string& text) { warnings += text; });
    const auto y = [&] { return plan.run(), plan.read("y")(0); };
    plan.fill("x", 3);
    CHECK(y() == 6.5f);
    save("Floats(p.x).at[i] + Floats(p.x).at[i] + p.add");
    CHECK(y() == 6.5f);
    CHECK(warnings.empty());
    save("3.0 * Floats(p.x).at[i]");  // disagrees with the reference
    CHECK(y() == 6.5f);
    CHECK(warnings.find("want 6.5") != std::string::npos);
    warnings.clear();
    save("nonsense");
    CHECK(y() == 6.5f);
    CHECK(warnings.find("nonsense") != std::string::npos);
    warnings.clear();
    CHECK(y() == 6.5f);  // reported once
    CHECK(warnings.empty());
    set_log({});
}
