// Faults under a whole session: loading, a prompt, drawn tokens and the tap, each with one call of the device failing.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "vantage/vantage.h"

using namespace vantage;

namespace {

const std::string gpt2_folder = std::string(VANTAGE_ROOT) + "/tests/data/oracle/models/gpt2";

/// All that a session does with a device.
std::vector<std::int32_t> whole_session(const Device& device) {
    const Model model = Model::load(device, gpt2_folder);
    Session session(model, {.context = 24, .record_attention = {.layers = {1}}, .largest_chunk = 8});
    session.append(std::vector<std::int32_t>{5, 9, 2, 77, 31, 4, 8, 100, 3, 64});
    static_cast<void>(session.generate(8));
    static_cast<void>(session.attention({1, 0}, {0, 10}, {0, 10}));
    return session.tokens();
}

}  // namespace

TEST_CASE("a fault anywhere under a session ends in its error and leaves nothing behind", "[faults][once]") {
    struct Fault {
        VkResult result;
        ErrorKind kind;
    };
    const Fault fault = GENERATE(Fault{VK_ERROR_OUT_OF_DEVICE_MEMORY, ErrorKind::out_of_memory},
                                 Fault{VK_ERROR_DEVICE_LOST, ErrorKind::device_lost});
    Device device = Device::open();
    const std::vector<std::int32_t> want = whole_session(device);
    int struck = 0, harmless = 0;
    // Every call at first, where a device is opened; then ever wider apart: they repeat by weight and by layer. The
    // second fault strikes elsewhere than the first. A device that ran out of memory goes on, and has its pipelines
    // still; each that was lost compiles its own, and so there are fewer of them.
    const bool lost = fault.kind == ErrorKind::device_lost;
    const std::uint64_t opening = 8;
    for (std::uint64_t nth = 1; nth < 100000; nth += nth < opening ? 1 : lost ? nth / 2 + 1 : nth / 4) {
        INFO("call " << nth << " gives " << gpu::name_of(fault.result));
        gpu::arm_fault(gpu::FaultPoint::any, nth, fault.result);
        try {
            if (lost || nth <= opening) device = Device::open();
            const std::vector<std::int32_t> got = whole_session(device);
            if (gpu::fault_armed()) break;
            CHECK(got == want);
            ++harmless;  // the pipeline cache may fail without harm
        } catch (const Error& error) {
            INFO(error.what());
            CHECK(error.kind() == fault.kind);
        }
        ++struck;
    }
    gpu::arm_fault(gpu::FaultPoint::any, 0, VK_SUCCESS);
    CHECK(struck > 16);
    CHECK(harmless <= 4);
    CHECK(whole_session(Device::open()) == want);
    CHECK(Device::validation_errors() == 0);
}

TEST_CASE("a context that nobody asked for is what the memory holds, and a line says so", "[session]") {
    const Device device = Device::open();
    const Model model = Model::load(device, gpt2_folder);
    CHECK(Session(model).context() == model.info().context);

    std::uint64_t& limit = device.state().memory.limit;
    limit = 1ull << 30;
    limit = limit - device.memory_available() + (20u << 10);
    std::string said;
    set_log([&](LogLevel, const std::string& message) { said += message; });
    Session session(model);
    set_log({});
    CHECK(session.context() >= 8);
    CHECK(session.context() < model.info().context);
    CHECK_THAT(said, Catch::Matchers::ContainsSubstring("tokens instead of the model's 96"));
    session.append(std::vector<std::int32_t>{5, 9, 2});
    CHECK(session.generate(3).size() == 3);

    limit = 1;
    CHECK_THROWS_AS(Session(model), Error);
    CHECK(Session(model, {.context = 8}).context() == 8);  // as asked for: small allocations are tried
}
