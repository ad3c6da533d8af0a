// Injected faults: every call that can fail fails once. Each time the program gets the right error, does not hang and
// leaks nothing (the validation layer, when it is on, reports leaks).
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vector>

#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"
#include "tests/device/selftest.h"

using namespace vantage;
using namespace vantage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Opens a device and uses every kind of call that can fail.
void everything() {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    state.staging->direct_mapping = false;
    state.staging->piece_bytes = 256;
    Selftest test(state, 100);
    gpu::fill(state, test.output(), 0, 400, 0);
    gpu::Recording recording(state, "fault", 1);
    test.record(recording, 1.0f);
    recording.end();
    const gpu::Recording* one = &recording;
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) last = gpu::submit(state, {&one, 1});
    gpu::wait(state, last);
    static_cast<void>(gpu::reached(state));
    static_cast<void>(recording.timings());
    if (test.worst_error(1.0f) != 0.0f) throw Error(ErrorKind::accuracy, "wrong numbers after an injected fault");
}

struct Fault {
    VkResult result;
    ErrorKind kind;
    int code;
};

/// Runs `everything` with the n-th call failing. False when there are fewer calls than n.
bool strikes(gpu::FaultPoint point, std::uint64_t nth, const Fault& fault, int& survived) {
    gpu::arm_fault(point, nth, fault.result);
    try {
        everything();
        if (gpu::fault_armed()) return false;
        ++survived;  // some failures are no errors, such as those of the pipeline cache
    } catch (const Error& error) {
        INFO(error.what());
        CHECK(error.kind() == fault.kind);
        CHECK(exit_code(error.kind()) == fault.code);
        CHECK_FALSE(gpu::fault_armed());
    }
    return true;
}

}  // namespace

TEST_CASE("every call that fails gives the right error") {
    const Fault fault = GENERATE(Fault{VK_ERROR_OUT_OF_DEVICE_MEMORY, ErrorKind::out_of_memory, 4},
                                 Fault{VK_ERROR_DEVICE_LOST, ErrorKind::device_lost, 5});
    int survived = 0;
    std::uint64_t calls = 0;
    for (std::uint64_t nth = 1;; ++nth) {
        INFO("call " << nth << " gives " << gpu::name_of(fault.result));
        if (!strikes(gpu::FaultPoint::any, nth, fault, survived)) break;
        calls = nth;
        REQUIRE(nth < 1000);
    }
    gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
    CHECK(calls > 30);
    CHECK(survived <= 8);
    UNSCOPED_INFO(calls << " calls, " << survived << " fail without an error");
    everything();  // the process works as before
    CHECK(Device::validation_errors() == 0);
}

TEST_CASE("allocations, submissions and waits are counted separately") {
    int survived = 0;
    for (const gpu::FaultPoint point : {gpu::FaultPoint::allocate, gpu::FaultPoint::submit, gpu::FaultPoint::wait}) {
        std::uint64_t nth = 1;
        while (strikes(point, nth, {VK_TIMEOUT, ErrorKind::device_lost, 5}, survived)) ++nth;
        gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
        CHECK(nth > 3);
    }
    CHECK(survived == 0);
}

TEST_CASE("the out-of-memory message has the sizes") {
    const Device device = Device::open();
    gpu::arm_fault(gpu::FaultPoint::allocate, 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    try {
        static_cast<void>(gpu::allocate(device.state(), 123456, gpu::MemoryKind::device, "wte.weight"));
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::out_of_memory);
        CHECK_THAT(error.what(), ContainsSubstring("'wte.weight' needs 120.6 KiB (123456 bytes)") &&
                                     ContainsSubstring("are available"));
    }
}

TEST_CASE("a lost device rejects further work at once") {
    const Device device = Device::open();
    gpu::DeviceState& state = device.state();
    Selftest test(state, 64);
    gpu::Recording recording(state, "lost");
    test.record(recording, 1.0f);
    recording.end();
    const gpu::Recording* one = &recording;
    gpu::arm_fault(gpu::FaultPoint::submit, 1, VK_ERROR_DEVICE_LOST);
    CHECK_THROWS_AS(gpu::submit(state, {&one, 1}), Error);
    CHECK(state.queue.lost);
    for (int i = 0; i < 2; ++i) {
        try {
            if (i == 0) static_cast<void>(gpu::submit(state, {&one, 1}));
            if (i == 1) static_cast<void>(test.result());
            FAIL("no error");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::device_lost);
            CHECK_THAT(error.what(), ContainsSubstring("was lost: vkQueueSubmit2: VK_ERROR_DEVICE_LOST"));
        }
    }
}

TEST_CASE("a device that exceeds the timeout counts as lost, and is freed when it is done") {
    {
        const Device device = Device::open();
        gpu::DeviceState& state = device.state();
        Selftest test(state, 1 << 18);
        gpu::Recording recording(state, "long");
        for (int i = 0; i < 20; ++i) test.record(recording, 1.0f);
        recording.end();
        const gpu::Recording* one = &recording;
        std::uint64_t last = 0;
        for (int i = 0; i < 3; ++i) last = gpu::submit(state, {&one, 1});
        try {
            gpu::wait(state, last, true, 1e-6);
            WARN("the device was done within a microsecond");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::device_lost);
            CHECK_THAT(error.what(), ContainsSubstring("VANTAGE_TIMEOUT"));
        }
    }
    CHECK(Device::validation_errors() == 0);
}
