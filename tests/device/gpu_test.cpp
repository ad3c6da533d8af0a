// The gpu layer on the device that VANTAGE_DEVICE names: memory, dispatches, pipelines, sharing.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/choose_device.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"
#include "tests/device/selftest.h"
#include "vantage/vulkan.h"

using namespace vantage;
using namespace vantage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + i / 251) & 0xff);
    return data;
}

std::uint64_t run(gpu::DeviceState& device, const gpu::Recording& recording) {
    const gpu::Recording* one = &recording;
    return gpu::submit(device, {&one, 1});
}

Error error_of(const std::function<void()>& deed) {
    try {
        deed();
    } catch (const Error& error) {
        return error;
    }
    FAIL("no error");
    return {ErrorKind::failure, ""};
}

}  // namespace

TEST_CASE("uploaded bytes are downloaded unchanged, directly and through staging in pieces") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    const bool direct = GENERATE(false, true);
    state.staging->direct_mapping = direct;
    state.staging->piece_bytes = 1000;  // odd sizes span several pieces and end inside one
    for (const gpu::MemoryKind kind :
         {gpu::MemoryKind::device, gpu::MemoryKind::upload, gpu::MemoryKind::readback, gpu::MemoryKind::shared}) {
        for (const std::size_t bytes : {1u, 3u, 4u, 999u, 1000u, 1001u, 2000u, 3001u, 10007u}) {
            INFO("direct " << direct << ", kind " << static_cast<int>(kind) << ", " << bytes << " bytes");
            const gpu::Buffer buffer = gpu::allocate(state, bytes + 5, kind, "round trip");
            std::vector<std::byte> all(buffer.bytes(), std::byte{0});
            gpu::upload(state, buffer, 0, all);
            const std::vector<std::byte> sent = pattern(bytes);
            gpu::upload(state, buffer, 5, sent);
            std::vector<std::byte> got(bytes);
            gpu::download(state, buffer, 5, got);
            CHECK(got == sent);
            gpu::download(state, buffer, 0, all);
            CHECK(std::all_of(all.begin(), all.begin() + 5, [](std::byte b) { return b == std::byte{0}; }));
            CHECK(std::all_of(all.begin() + 5 + static_cast<std::ptrdiff_t>(bytes), all.end(),
                              [](std::byte b) { return b == std::byte{0}; }));
        }
    }
}

TEST_CASE("buffers are aligned, have names, and count as allocations") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    const std::uint64_t before = gpu::call_counts().allocations;
    std::vector<gpu::Buffer> buffers;
    buffers.reserve(20);
    for (std::uint64_t bytes = 0; bytes < 20; ++bytes)
        buffers.push_back(gpu::allocate(state, bytes * 37, gpu::MemoryKind::device, "b" + std::to_string(bytes)));
    CHECK(gpu::call_counts().allocations == before + 20);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        CHECK(buffers[i].address() % 256 == 0);
        CHECK(buffers[i].address() != 0);
        CHECK(buffers[i].bytes() >= std::max<std::uint64_t>(16, i * 37));
        CHECK(buffers[i].bytes() % 16 == 0);
        CHECK(buffers[i].name() == "b" + std::to_string(i));
    }
    CHECK((gpu::allocate(state, 16, gpu::MemoryKind::shared, "shared").mapped() != nullptr));
    CHECK_FALSE(static_cast<bool>(gpu::Buffer()));
}

TEST_CASE("fill writes only its range") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    const gpu::Buffer buffer = gpu::allocate(state, 64, gpu::MemoryKind::device, "filled");
    gpu::fill(state, buffer, 0, 64, 0x11111111);
    gpu::fill(state, buffer, 8, 12, 0xdeadbeef);
    std::vector<std::uint32_t> words(16);
    gpu::download(state, buffer, 0, std::as_writable_bytes(std::span(words)));
    for (std::size_t i = 0; i < words.size(); ++i) CHECK(words[i] == (i >= 2 && i < 5 ? 0xdeadbeef : 0x11111111));
    CHECK_THAT(error_of([&] { gpu::fill(state, buffer, 2, 4, 0); }).what(), ContainsSubstring("multiples of 4"));
}

TEST_CASE("a range outside a buffer is an error that names the buffer") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    const gpu::Buffer buffer = gpu::allocate(state, 64, gpu::MemoryKind::device, "small one");
    std::vector<std::byte> bytes(65);
    CHECK_THAT(error_of([&] { gpu::upload(state, buffer, 0, bytes); }).what(), ContainsSubstring("small one"));
    CHECK_THAT(error_of([&] { gpu::download(state, buffer, ~0ull, bytes); }).what(), ContainsSubstring("small one"));
    CHECK_THAT(error_of([&] { gpu::fill(state, buffer, 60, 8, 0); }).what(), ContainsSubstring("it has 64"));
}

TEST_CASE("an allocation that is too large is an error with the sizes") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    const Error piece = error_of([&] {
        static_cast<void>(gpu::allocate(state, device.caps().max_buffer + 1, gpu::MemoryKind::device, "giant"));
    });
    CHECK(piece.kind() == ErrorKind::out_of_memory);
    CHECK_THAT(piece.what(), ContainsSubstring("giant") && ContainsSubstring("at most"));
    // Without the driver's limit for one allocation the memory budget is the limit.
    state.parts.caps.max_allocation = state.parts.caps.max_buffer = ~0ull;
    const std::uint64_t more = device.memory_available() + (1ull << 30);
    const Error budget =
        error_of([&] { static_cast<void>(gpu::allocate(state, more, gpu::MemoryKind::device, "greedy")); });
    CHECK(budget.kind() == ErrorKind::out_of_memory);
    CHECK_THAT(budget.what(), ContainsSubstring("greedy") && ContainsSubstring("are available on") &&
                                  ContainsSubstring(device.caps().name));
    CHECK(exit_code(budget.kind()) == 4);
}

TEST_CASE("a dispatch computes and is timed, and its pipeline is found by its key") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 1000);
    const VkPipeline pipeline = test.pipeline();
    CHECK(gpu::pipeline(state, {"selftest", {64}}) == pipeline);
    CHECK(gpu::pipeline(state, {"selftest", {32}}) != pipeline);
    gpu::Recording recording(state, "one dispatch", 1);
    test.record(recording, 3.0f);
    recording.end();
    gpu::wait(state, run(state, recording));
    CHECK(test.worst_error(3.0f) == 0.0f);
    const auto timings = recording.timings();
    if (device.caps().timestamps) {
        REQUIRE(timings.size() == 1);
        CHECK(timings[0].label == "selftest");
        CHECK(timings[0].end_ns >= timings[0].begin_ns);
    }
    gpu::Recording untimed(state, "untimed");
    test.record(untimed, 1.0f);
    untimed.end();
    gpu::wait(state, run(state, untimed));
    CHECK(untimed.timings().empty());
    CHECK_THAT(error_of([&] { test.record(untimed, 0.0f); }).what(),
               ContainsSubstring("untimed") && ContainsSubstring("has ended"));
}

TEST_CASE("an invalid dispatch is an error") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 64);
    gpu::Recording recording(state, "refusing");
    const std::vector<std::byte> push(132);
    const std::uint32_t maximum = device.caps().max_workgroup_count[1];
    CHECK_THAT(error_of([&] {
                   recording.dispatch(test.pipeline(), push, {1, 1, 1});
               }).what(),
               ContainsSubstring("132 bytes"));
    CHECK_THAT(error_of([&] {
                   recording.dispatch(test.pipeline(), std::span(push).first(3), {1, 1, 1});
               }).what(),
               ContainsSubstring("multiple of 4"));
    if (maximum != ~0u)
        CHECK_THAT(error_of([&] {
                       recording.dispatch(test.pipeline(), {}, {1, maximum + 1, 1}, "wide");
                   }).what(),
                   ContainsSubstring("wide: a grid"));
    CHECK(error_of([&] {
              static_cast<void>(gpu::pipeline(state, {"no such shader", {}}));
          }).kind() == ErrorKind::unsupported);
    const Error size = error_of([&] { static_cast<void>(gpu::pipeline(state, {"selftest", {64}, 4096})); });
    CHECK(size.kind() == ErrorKind::unsupported);
    CHECK_THAT(size.what(), ContainsSubstring("selftest (64) subgroup 4096"));
}

TEST_CASE("a required subgroup size is accepted if the device supports it") {
    const Device device = Device::open();
    const Caps& caps = device.caps();
    for (std::uint32_t size = caps.min_subgroup_size; size <= caps.max_subgroup_size && caps.subgroup_size_control;
         size *= 2) {
        CHECK(gpu::pipeline(device.state(), {"selftest", {128}, size}) != VK_NULL_HANDLE);
    }
    CHECK(gpu::pipeline(device.state(), {"selftest", {128}, caps.subgroup_size}) != VK_NULL_HANDLE);
}

TEST_CASE("an indirect dispatch reads its grid on the device") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 1000);
    const gpu::Buffer grid = gpu::allocate(state, 64, gpu::MemoryKind::device, "grid");
    const std::array<std::uint32_t, 3> groups{5, 1, 1};  // 320 of 1000 elements
    gpu::upload(state, grid, 16, std::as_bytes(std::span(groups)));
    gpu::fill(state, test.output(), 0, test.output().bytes(), 0);
    gpu::Recording recording(state, "indirect", 1);
    const Selftest::Push push = test.push(1.0f);
    recording.dispatch_indirect(test.pipeline(), std::as_bytes(std::span(&push, 1)), grid, 16, "selftest");
    recording.end();
    gpu::wait(state, run(state, recording));
    const std::vector<float> got = test.result();
    CHECK(got[319] == 2.0f * 319.0f + 1.0f);
    CHECK(got[320] == 0.0f);
}

TEST_CASE("a dispatch in pieces covers the whole grid") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 1000);
    gpu::fill(state, test.output(), 0, test.output().bytes(), 0);
    const VkPipeline pipeline = gpu::pipeline(state, {.module = "selftest", .spec = {64}});
    const Selftest::Push push = test.push(1.0f);
    gpu::Recording recording(state, "pieces", 2);
    recording.dispatch_piece(pipeline, std::as_bytes(std::span(&push, 1)), {0, 0, 0}, {7, 1, 1}, "first");
    recording.dispatch_piece(pipeline, std::as_bytes(std::span(&push, 1)), {7, 0, 0}, {9, 1, 1}, "second");
    recording.end();
    gpu::wait(state, run(state, recording));
    CHECK(test.worst_error(1.0f) == 0.0f);
}

TEST_CASE("a dispatch in pieces covers the whole grid with pipelines from a file, too") {
    const Device first = Device::open();
    static_cast<void>(gpu::pipeline(first.state(), {"selftest", {64}}));
    first.state().pipelines->save();
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 1000);
    gpu::fill(state, test.output(), 0, test.output().bytes(), 0);
    const VkPipeline pipeline = gpu::pipeline(state, {"selftest", {64}});
    const Selftest::Push push = test.push(1.0f);
    gpu::Recording recording(state, "pieces", 2);
    recording.dispatch_piece(pipeline, std::as_bytes(std::span(&push, 1)), {7, 0, 0}, {9, 1, 1}, "second");
    recording.dispatch(pipeline, std::as_bytes(std::span(&push, 1)), {7, 1, 1}, "first: it begins at 0 again");
    recording.end();
    gpu::wait(state, run(state, recording));
    CHECK(test.worst_error(1.0f) == 0.0f);
}

TEST_CASE("a recording that is submitted many times without waiting runs that often, in order") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    // Each run computes x = 2x + 1 in place, through a second buffer, so a missing or repeated run changes the result.
    Selftest test(state, 256);
    gpu::Recording recording(state, "replayed");
    test.record(recording, 1.0f);
    recording.barrier();
    recording.copy(test.output(), 0, test.input(), 0, test.output().bytes());
    recording.end();
    const std::vector<float> zeros(256, 0.0f);
    gpu::upload(state, test.input(), 0, std::as_bytes(std::span(zeros)));
    const std::uint64_t recordings = gpu::call_counts().recordings, submissions = gpu::call_counts().submissions;
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) last = run(state, recording);
    gpu::wait(state, last);
    CHECK(gpu::reached(state) >= last);
    CHECK(gpu::call_counts().recordings == recordings);
    CHECK(gpu::call_counts().submissions == submissions + 20);
    CHECK(test.result()[255] == 1048575.0f);  // 2^20 - 1
}

TEST_CASE("one submission has several recordings") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest first(state, 100), second(state, 100);
    gpu::Recording a(state, "a"), b(state, "b");
    first.record(a, 1.0f);
    second.record(b, 2.0f);
    a.end();
    b.end();
    const std::array<const gpu::Recording*, 2> both{&a, &b};
    gpu::wait(state, gpu::submit(state, both));
    CHECK(first.worst_error(1.0f) == 0.0f);
    CHECK(second.worst_error(2.0f) == 0.0f);
}

TEST_CASE("objects that are released while the device uses them live until it is done") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    std::uint64_t last = 0;
    for (int round = 0; round < 10; ++round) {
        Selftest test(state, 100000);
        gpu::Recording recording(state, "dropped");
        for (int i = 0; i < 5; ++i) test.record(recording, 1.0f);
        recording.end();
        last = run(state, recording);
    }
    gpu::wait(state, last);
    CHECK(Device::validation_errors() == 0);
}

TEST_CASE("a buffer keeps its device alive") {
    gpu::Buffer buffer;
    {
        const Device device = Device::open();
        buffer = gpu::allocate(device.state(), 64, gpu::MemoryKind::device, "orphan");
    }
    CHECK(buffer.address() != 0);
    buffer = {};
    CHECK(Device::validation_errors() == 0);
}

TEST_CASE("threads that need the same pipelines share them, and each is made once", "[threads]") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    std::vector<gpu::PipelineKey> keys{{"selftest", {8}},  {"selftest", {16}},  {"selftest", {32}},
                                       {"selftest", {64}}, {"selftest", {128}}, {"selftest", {8}}};
    std::vector<std::vector<VkPipeline>> got(4);
    {
        std::vector<std::jthread> threads;
        threads.reserve(4);
        for (std::vector<VkPipeline>& mine : got) {
            threads.emplace_back([&] {
                for (const gpu::PipelineKey& key : keys) mine.push_back(gpu::pipeline(state, key));
            });
        }
        gpu::prepare_pipelines(state, keys);
    }
    for (const auto& mine : got) CHECK(mine == got.front());
    CHECK(got[0].front() == got[0].back());
    keys.push_back({"no such shader", {}});
    CHECK(error_of([&] { gpu::prepare_pipelines(state, keys); }).kind() == ErrorKind::unsupported);
}

TEST_CASE("a download does not wait for an upload that reads a slow file", "[threads]") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    state.staging->direct_mapping = false;
    const gpu::Buffer from = gpu::allocate(state, 8192, gpu::MemoryKind::device, "from"),
                      to = gpu::allocate(state, 8192, gpu::MemoryKind::device, "to");
    const std::vector<std::byte> sent = pattern(8192);
    gpu::upload(state, from, 0, sent);
    std::vector<std::byte> got(8192), copied(8192);
    std::promise<void> begun, downloaded;
    bool in_time = true;
    {
        std::jthread uploading([&] {
            gpu::upload(state, to, 0, 8192, [&](std::uint64_t first, std::span<std::byte> piece) {
                begun.set_value();  // one piece: called once
                in_time = downloaded.get_future().wait_for(std::chrono::minutes(5)) == std::future_status::ready;
                std::memcpy(piece.data(), sent.data() + first, piece.size());
            });
        });
        begun.get_future().wait();
        gpu::download(state, from, 0, got);
        downloaded.set_value();
    }
    CHECK(in_time);
    CHECK(got == sent);
    gpu::download(state, to, 0, copied);
    CHECK(copied == sent);
}

TEST_CASE("uploads of several threads alternate by pieces", "[threads]") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    state.staging->direct_mapping = false;
    state.staging->piece_bytes = 1000;
    constexpr std::size_t count = 4, bytes = 10'007;
    std::vector<gpu::Buffer> buffers;
    for (std::size_t i = 0; i < count; ++i)
        buffers.push_back(gpu::allocate(state, bytes, gpu::MemoryKind::device, "of a thread"));
    const auto byte_of = [](std::size_t thread, std::size_t at) { return static_cast<std::byte>(at * 7 + thread); };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                gpu::upload(state, buffers[i], 0, bytes, [&](std::uint64_t first, std::span<std::byte> piece) {
                    for (std::size_t k = 0; k < piece.size(); ++k) piece[k] = byte_of(i, first + k);
                });
            });
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::byte> got(bytes);
        gpu::download(state, buffers[i], 0, got);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < bytes; ++k) wrong += got[k] != byte_of(i, k) ? 1u : 0u;
        CHECK(wrong == 0);
    }
}

TEST_CASE("several threads can submit work", "[threads]") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    std::array<float, 4> errors{1, 1, 1, 1};
    {
        std::vector<std::jthread> threads;
        threads.reserve(4);
        for (std::size_t i = 0; i < errors.size(); ++i) {
            threads.emplace_back([&, i] {
                const auto add = static_cast<float>(i);
                Selftest test(state, 500 + i);
                for (int round = 0; round < 5; ++round) {
                    gpu::Recording recording(state, "thread");
                    test.record(recording, add);
                    recording.end();
                    gpu::wait(state, run(state, recording));
                }
                errors[i] = test.worst_error(add);
            });
        }
    }
    CHECK(errors == std::array<float, 4>{0, 0, 0, 0});
}

TEST_CASE("a device that the program created is adopted") {
    const Device owner = Device::open();
    const VulkanHandles theirs = handles(owner);
    DeviceFeatures features(theirs.physical);
    {
        const Device adopted = adopt(theirs, features.extensions());
        CHECK(adopted.caps().name == owner.caps().name);
        Selftest test(adopted.state(), 100);
        gpu::Recording recording(adopted.state(), "adopted");
        test.record(recording, 4.0f);
        recording.end();
        {
            const auto lock = lock_queue(adopted);
            CHECK(lock.owns_lock());
        }
        gpu::wait(adopted.state(), run(adopted.state(), recording));
        CHECK(test.worst_error(4.0f) == 0.0f);
        CHECK(timeline(adopted).value >= 1);
        CHECK(timeline(adopted).semaphore != VK_NULL_HANDLE);
    }
    // The device still exists, because the state did not own it.
    CHECK(gpu::allocate(owner.state(), 16, gpu::MemoryKind::device, "after").address() != 0);
}

TEST_CASE("memory is shared through a file descriptor") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    std::vector<float> values(64), got(64);
    std::iota(values.begin(), values.end(), 1.0f);
    try {
        const SharedBuffer made = SharedBuffer::create(device, 256, "made");
        gpu::upload(state, *made.view().owner, 0, std::as_bytes(std::span(values)));
        const SharedBuffer taken = SharedBuffer::import_memory(device, made.export_memory(), 256, "taken");
        CHECK(taken.handle() != made.handle());
        gpu::download(state, *taken.view().owner, 0, std::as_writable_bytes(std::span(got)));
        CHECK(got == values);
        CHECK(taken.address() != 0);
        CHECK(taken.bytes() == 256);
        SharedBuffer source = taken;
        // NOLINTBEGIN(bugprone-use-after-move, performance-move-const-arg): a moved-from handle is a copy
        const SharedBuffer target = std::move(source);
        CHECK(source.handle() == target.handle());
        // NOLINTEND(bugprone-use-after-move, performance-move-const-arg)
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
        WARN(error.what());
    }
    try {
        const SharedTimeline made = SharedTimeline::create(device, "made");
        const SharedTimeline taken = SharedTimeline::import_handle(device, made.export_handle(), "taken");
        CHECK(taken.handle() != made.handle());
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
        WARN(error.what());
    }
}

TEST_CASE("the device that is opened is the chosen one in the list") {
    const std::vector<DeviceListing> listings = Device::list();
    const Device device = Device::open();
    const auto chosen =
        std::find_if(listings.begin(), listings.end(), [](const DeviceListing& one) { return one.chosen; });
    REQUIRE(chosen != listings.end());
    CHECK(chosen->caps.uuid == device.caps().uuid);
    CHECK(chosen->memory_available > 0);
    CHECK_FALSE(chosen->reason.empty());
    CHECK(missing_requirements(device.caps()).empty());
    CHECK(Device::open("uuid:" + uuid_text(device.caps().uuid)).caps().name == device.caps().name);
    CHECK(error_of([] { static_cast<void>(Device::open("vulkan:999")); }).kind() == ErrorKind::usage);
    CHECK(error_of([] { static_cast<void>(Device::list("name:no such device")); }).kind() == ErrorKind::usage);
}

TEST_CASE("the caps of this device are written to JSON and read back unchanged") {
    const std::string text = caps_to_json(Device::open().caps());
    CHECK(caps_to_json(caps_from_json(text)) == text);
}

TEST_CASE("no validation errors so far") { CHECK(Device::validation_errors() == 0); }
