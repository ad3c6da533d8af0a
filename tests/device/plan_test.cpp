// Plans from outside: what a run asks for, values by name and by tensor, memory shared between plans.
#include "vantage/plan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "runtime/gpu/faults.h"
#include "runtime/io/safetensors.h"
#include "test_device.h"
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

TEST_CASE("an input that is an output itself must be written", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {2}), y = g.input("y", {2});
    g.output("same", x);
    g.output("double", y + y);
    Plan plan(std::move(g), test_device());
    plan.fill("y", 1);
    expect_error(ErrorKind::usage, {"input x was never written"}, [&] { plan.run(); });
    plan.fill("x", 3);
    plan.run();
    CHECK(of(plan.read("same")) == std::vector<float>{3, 3});
}

TEST_CASE("a segment asks for the inputs that it reads itself", "[plan]") {
    const WithoutGuard without;
    Graph g;
    const Tensor a = g.input("a", {2}), b = g.input("b", {2}), c = g.input("c", {2});
    g.output("first", a + c);
    g.segment("second");
    g.output("second", b + c);
    Plan plan(std::move(g), test_device());
    const int first[] = {0}, second[] = {1};
    expect_error(ErrorKind::usage, {"inputs b, c were"}, [&] { plan.submit(second); });
    plan.fill("b", 1), plan.fill("c", 2);
    plan.wait(plan.submit(second));
    CHECK(of(plan.read("second")) == std::vector<float>{3, 3});
    expect_error(ErrorKind::usage, {"input a was"}, [&] { plan.submit(first); });
}

TEST_CASE("outputs of a run that failed cannot be read", "[plan]") {
    const WithoutGuard without;
    Plan plan = doubling("x", "y");
    plan.fill("x", 1);
    gpu::arm_fault(gpu::FaultPoint::any, 1, VK_ERROR_OUT_OF_HOST_MEMORY);
    expect_error(ErrorKind::out_of_memory, {}, [&] { plan.run(); });
    gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
    expect_error(ErrorKind::usage, {"none has been made"}, [&] { static_cast<void>(plan.read("y")); });
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>(4, 2));
}

TEST_CASE("a weight that is kept transposed is written and read as it was declared", "[plan]") {
    Affine net;
    Plan plan(std::move(net.g), test_device());
    const std::vector<float> w{1, 2, 3, 4, 5, 6};
    plan.write("w", w);
    CHECK(plan.read("w").shape() == Shape{3, 2});
    CHECK(of(plan.read("w")) == w);
    CHECK(of(plan.read("w", rows(1, 2))) == std::vector<float>{3, 4, 5, 6});
    CHECK(plan.read_rows("w", 5, 2) == std::vector<float>{5, 6});
    const std::vector<std::byte> bytes = plan.read_bytes("w");
    CHECK(std::ranges::equal(bytes, std::as_bytes(std::span(w))));
    plan.fill("w", 0);
    plan.write_bytes("w", bytes);
    CHECK(of(plan.read("w")) == w);
    expect_error(ErrorKind::usage, {"w", "[3, 2]", "transposed", "shared"},
                 [&] { static_cast<void>(plan.buffer("w")); });
    Plan other = doubling("x", "y");
    expect_error(ErrorKind::usage, {"w", "transposed", "bound"}, [&] { plan.bind("w", other.buffer("x")); });
}

TEST_CASE("bytes of a quantized weight that is kept transposed are refused", "[plan]") {
    Graph g([](const std::string&) { return DType::q8_0; });
    const Tensor x = g.input("x", {1, 512}), w = g.weight("w", {512, 256});
    g.output("y", linear(x, w));
    Plan plan(std::move(g), test_device());
    const std::vector<std::byte> bytes(TensorType{{512, 256}, DType::q8_0}.bytes());
    expect_error(ErrorKind::usage, {"w", "transposed", "written as bytes"}, [&] { plan.write_bytes("w", bytes); });
    expect_error(ErrorKind::usage, {"w", "transposed", "read as bytes"},
                 [&] { static_cast<void>(plan.read_bytes("w")); });
    std::vector<float> values(512 * 256, 0);
    values[3 * 256 + 5] = 127;
    plan.write("w", values);
    CHECK(of(plan.read("w")) == values);
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

TEST_CASE("a view of an intermediate is not read, a view of an output is", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {2, 2}), h = x + x, y = h + x;
    const Tensor of_h = g.reshape(h, {4}), of_y = g.reshape(y, {4});
    g.output("y", y);
    Plan plan(std::move(g), test_device());
    plan.write(x, {1.f, 2.f, 3.f, 4.f});
    plan.run();
    expect_error(ErrorKind::usage, {"intermediate"}, [&] { plan.read(of_h); });
    CHECK(of(plan.read(of_y)) == std::vector<float>{3, 6, 9, 12});
}

TEST_CASE("memory of an odd number of 16-bit values is bound in another plan", "[plan]") {
    const auto doubled = [] {
        Graph g;
        const Tensor x = g.input("x", {3}, DType::f16);
        g.output("y", x + x);
        return Plan(std::move(g), test_device());
    };
    Plan first = doubled(), second = doubled();
    first.write("x", {1.f, 2.f, 3.f});
    second.bind("x", first.buffer("x"));
    second.run();
    CHECK(of(second.read("y")) == std::vector<float>{2, 4, 6});
}

TEST_CASE("a tensor of a copy of the graph names the value that both have", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {2});
    Graph copy = g.copy();
    const Tensor a = g.input("a", {2}), b = copy.input("b", {2});  // of the same index
    g.output("y", x + a);
    Plan plan(std::move(g), test_device());
    plan.write(x, {1.f, 2.f});
    plan.write(a, {10.f, 20.f});
    expect_error(ErrorKind::usage, {"not one of the graph"}, [&] { plan.write(b, {3.f, 4.f}); });
    plan.run();
    CHECK(of(plan.read("y")) == std::vector<float>{11, 22});
}

TEST_CASE("an output may have the name of an input", "[plan]") {
    Graph g;
    const Tensor x = g.input("x", {2}), y = x + x;
    g.output("x", y);
    Plan plan(std::move(g), test_device());
    plan.write("x", {1.f, 2.f});
    plan.run();
    CHECK(of(plan.read("x")) == std::vector<float>{2, 4});
    plan.write(x, {3.f, 4.f});
    plan.run();
    CHECK(of(plan.read(y)) == std::vector<float>{6, 8});
    CHECK(of(plan.read(x)) == std::vector<float>{3, 4});
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

TEST_CASE("running statistics of batch norm stay in states between runs", "[plan]") {
    constexpr std::int64_t batch = 3, channels = 2, length = 4;
    constexpr double count = batch * length, momentum = 0.1;  // as torch.nn.BatchNorm1d
    Graph g;
    const Tensor x = g.input("x", {batch, channels, length}), mean = g.state("mean", {channels}, DType::f32),
                 variance = g.state("variance", {channels}, DType::f32);
    const BatchNormResult norm = batch_norm(x, {}, {}, mean, variance, {.training = true, .momentum = momentum});
    g.output("y", norm.y);
    write(mean, norm.mean);
    write(variance, norm.variance);
    Plan plan(std::move(g), test_device());
    plan.fill("mean", 0), plan.fill("variance", 1);
    std::vector<double> want_mean(channels, 0), want_variance(channels, 1);
    for (int number = 0; number < 3; ++number) {
        std::vector<float> values;
        for (int i = 0; i < batch * channels * length; ++i)
            values.push_back(static_cast<float>(number + (1 + number) * std::sin(5 * i + number)));
        plan.write("x", values);
        plan.run();
        for (std::size_t c = 0; c < channels; ++c) {
            double sum = 0, squares = 0;
            for (std::size_t i = 0; i < values.size(); ++i) sum += i / length % channels == c ? values[i] : 0;
            for (std::size_t i = 0; i < values.size(); ++i)
                squares += i / length % channels == c ? std::pow(values[i] - sum / count, 2) : 0;
            want_mean[c] += momentum * (sum / count - want_mean[c]);
            want_variance[c] += momentum * (squares / (count - 1) - want_variance[c]);
            INFO("batch " << number << ", channel " << c);
            CHECK(std::abs(of(plan.read("mean"))[c] - want_mean[c]) < 1e-5);
            CHECK(std::abs(of(plan.read("variance"))[c] - want_variance[c]) < 1e-5);
        }
    }
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
    std::optional<SharedTimeline> shared;
    try {
        shared = SharedTimeline::create(test_device(), "start");
    } catch (const Error& error) {
        REQUIRE(error.kind() == ErrorKind::unsupported);
        SKIP(error.what());
    }
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
    BufferView small = whole, odd = whole, nowhere = whole, beyond = whole, elsewhere = whole;
    small.bytes = 8;
    odd.offset += 4, odd.address += 4, odd.bytes -= 4;
    nowhere.address = 0;
    beyond.bytes = 1 << 20;
    elsewhere.address += 256;
    expect_error(ErrorKind::usage, {"x is f32 [4]", "16 bytes", "has 8"}, [&] { plan.bind("x", small); });
    expect_error(ErrorKind::usage, {"multiple of 16"}, [&] { plan.bind("x", odd); });
    expect_error(ErrorKind::usage, {"empty"}, [&] { plan.bind("x", BufferView()); });
    expect_error(ErrorKind::usage, {"x", "no device address"}, [&] { plan.bind("x", nowhere); });
    expect_error(ErrorKind::usage, {"x", "not a range"}, [&] { plan.bind("x", beyond); });
    expect_error(ErrorKind::usage, {"x", "not a range"}, [&] { plan.bind("x", elsewhere); });
    plan.fill("x", 1);
    expect_error(ErrorKind::usage, {"no semaphore"}, [&] { plan.submit(after(TimelinePoint{})); });
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
