// Caps, quirks and the choice of a device, with made-up devices: no driver is asked.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/gpu/choose_device.h"
#include "vantage/caps.h"
#include "vantage/error.h"

using namespace vantage;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A device that meets the requirements, changed by a JSON object's text.
Caps made_up(const std::string& name, const std::string& more = "") {
    return caps_from_json(R"({"name": ")" + name +
                          R"(", "type": "discrete", "api_version": "1.3.250", "driver": "made-up",
        "buffer_device_address": true, "timeline_semaphore": true, "synchronization2": true, "subgroup_arithmetic": true,
        "subgroup_shuffle": true, "subgroup_quad": true, "subgroup_size": 32, "min_subgroup_size": 32,
        "max_subgroup_size": 32, "fp16": true,
        "device_memory": 8589934592)" +
                          (more.empty() ? "" : ", " + more) + "}");
}

std::vector<DeviceListing> listed(std::vector<Caps> caps) {
    std::vector<DeviceListing> devices;
    for (Caps& one : caps) {
        DeviceListing listing;
        listing.caps = std::move(one);
        listing.index = static_cast<int>(devices.size());
        devices.push_back(std::move(listing));
    }
    return devices;
}

Error error_of(std::vector<DeviceListing> devices, const std::string& wish) {
    try {
        static_cast<void>(choose_device(devices, wish));
    } catch (const Error& error) {
        return error;
    }
    FAIL("no error for the wish '" << wish << "'");
    return {ErrorKind::failure, ""};
}

std::string problem_of(const std::string& text) {
    try {
        static_cast<void>(caps_from_json(text));
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_file);
        return error.what();
    }
    return "";
}

/// Collects what is logged while it lives.
struct Logged {
    std::string text;
    Logged() {
        set_log([this](LogLevel, const std::string& message) { text += message + "\n"; });
    }
    ~Logged() { set_log({}); }
    Logged(const Logged&) = delete;
    Logged& operator=(const Logged&) = delete;
};

const char* const uuid_a = R"("uuid": "00112233-4455-6677-8899-aabbccddeeff")";
const char* const uuid_b = R"("uuid": "ffeeddcc-bbaa-9988-7766-554433221100")";

}  // namespace

TEST_CASE("caps survive a round trip through JSON") {
    Caps caps =
        made_up("Test GPU", std::string(uuid_a) + R"(, "max_workgroup_size": [1, 2, 3], "timestamp_period": 52.5,
        "max_allocation": 18446744073709551615, "type": "virtual",
        "cooperative_matrices": [{"m": 16, "n": 8, "k": 32, "a": "s8", "b": "u8", "c": "s32"}])");
    CHECK(caps.max_allocation == ~0ull);
    CHECK(caps.type == DeviceType::virtual_gpu);
    CHECK(uuid_text(caps.uuid) == "00112233-4455-6677-8899-aabbccddeeff");
    const std::string text = caps_to_json(caps);
    CHECK(caps_to_json(caps_from_json(text)) == text);
    const Caps again = caps_from_json(text);
    REQUIRE(again.cooperative_matrices.size() == 1);
    CHECK(again.cooperative_matrices[0].n == 8);
    CHECK(again.cooperative_matrices[0].b == "u8");
    CHECK(again.max_workgroup_size[2] == 3);
    CHECK(again.api_version == caps.api_version);
}

TEST_CASE("a device name that is not UTF-8 is no obstacle") {
    Caps caps = made_up("x");
    caps.name = "\xff\xfe GPU";
    CHECK_THAT(caps_to_json(caps), ContainsSubstring("GPU"));
}

TEST_CASE("a broken device description names the field") {
    CHECK_THAT(problem_of("[1, 2]"), ContainsSubstring("not a JSON object"));
    CHECK_THAT(problem_of("{"), ContainsSubstring("not a JSON object"));
    CHECK_THAT(problem_of(R"({"subgroup_size": -1})"), ContainsSubstring("subgroup_size"));
    CHECK_THAT(problem_of(R"({"subgroup_size": 4294967296})"), ContainsSubstring("4294967295"));
    CHECK_THAT(problem_of(R"({"fp16": 1})"), ContainsSubstring("fp16"));
    CHECK_THAT(problem_of(R"({"name": 5})"), ContainsSubstring("name"));
    CHECK_THAT(problem_of(R"({"uuid": "0011"})"), ContainsSubstring("uuid"));
    CHECK_THAT(problem_of(R"({"type": "toaster"})"), ContainsSubstring("toaster"));
    CHECK_THAT(problem_of(R"({"api_version": "new"})"), ContainsSubstring("api_version"));
    CHECK_THAT(problem_of(R"({"max_workgroup_size": [1, 2]})"), ContainsSubstring("max_workgroup_size"));
    CHECK_THAT(problem_of(R"({"cooperative_matrices": [{"m": "x"}]})"), ContainsSubstring("cooperative_matrices.m"));
    CHECK_THAT(problem_of(R"({"cooperative_matrices": [3]})"), ContainsSubstring("cooperative_matrices"));
    CHECK_THAT(problem_of(R"({"timestamp_period": "x"})"), ContainsSubstring("timestamp_period"));
}

TEST_CASE("what a device lacks is said in words") {
    CHECK(missing_requirements(made_up("good")).empty());
    const auto lacks = [](const std::string& more) {
        std::string text;
        for (const std::string& one : missing_requirements(made_up("poor", more))) text += one + "; ";
        return text;
    };
    CHECK_THAT(lacks(R"("api_version": "1.1.128")"), ContainsSubstring("Vulkan 1.3 (it has 1.1.128"));
    CHECK_THAT(lacks(R"("buffer_device_address": false)"), ContainsSubstring("bufferDeviceAddress"));
    CHECK_THAT(lacks(R"("timeline_semaphore": false)"), ContainsSubstring("timelineSemaphore"));
    CHECK_THAT(lacks(R"("synchronization2": false)"), ContainsSubstring("synchronization2"));
    CHECK_THAT(lacks(R"("compute_queue": false)"), ContainsSubstring("queue"));
    CHECK_THAT(lacks(R"("max_push_constants": 64)"), ContainsSubstring("it has 64"));
    CHECK_THAT(lacks(R"("max_workgroup_invocations": 64)"), ContainsSubstring("workgroups of 128"));
    CHECK_THAT(lacks(R"("max_shared_memory": 8192)"), ContainsSubstring("shared memory"));
}

TEST_CASE("only lavapipe from Mesa 25 on loads once for all lanes") {
    const auto once = [](const std::string& more) {
        return made_up("CPU", R"("type": "cpu", )" + more).loads_uniform_once();
    };
    CHECK(once(R"("driver_id": 13, "api_version": "1.4.305")"));
    CHECK_FALSE(once(R"("driver_id": 13, "api_version": "1.3.246")"));
    CHECK_FALSE(once(R"("driver_id": 10, "api_version": "1.4.0")"));  // SwiftShader
    CHECK_FALSE(made_up("GPU", R"("driver_id": 13, "api_version": "1.4.305")").loads_uniform_once());
}

TEST_CASE("only lavapipe before Mesa 25 ends long loops") {
    CHECK(made_up("llvmpipe", R"("driver_id": 13, "api_version": "1.3.230")").ends_long_loops());
    CHECK_FALSE(made_up("llvmpipe", R"("driver_id": 13, "api_version": "1.4.305")").ends_long_loops());
    CHECK_FALSE(made_up("CPU", R"("driver_id": 10, "api_version": "1.3.0")").ends_long_loops());  // SwiftShader
}

TEST_CASE("quirks follow driver, version and facts") {
    const auto quirks = [](const Caps& caps) { return quirks_of(caps, false, false, false); };
    SECTION("an ordinary device has none") { CHECK(quirks(made_up("good")).reasons.empty()); }
    SECTION("MoltenVK's subgroups of 64") {
        CHECK(quirks(made_up("Apple M1", R"("driver_id": 14, "subgroup_size": 64)")).no_subgroup);
        CHECK_FALSE(quirks(made_up("Apple M1", R"("driver_id": 14, "subgroup_size": 32)")).no_subgroup);
        CHECK_FALSE(
            quirks(made_up("Radeon Pro", R"("driver_id": 14, "subgroup_size": 64, "vendor_id": 4098)")).no_subgroup);
    }
    SECTION("ANV's emulated matrices") {
        const std::string narrow =
            R"("driver_id": 6, "cooperative_matrices": [{"m": 8, "n": 8, "k": 16, "a": "f16", "b": "f16", "c": "f32"}])";
        const std::string wide =
            R"("driver_id": 6, "cooperative_matrices": [{"m": 8, "n": 16, "k": 16, "a": "f16", "b": "f16", "c": "f32"}])";
        CHECK(quirks(made_up("Iris Xe", narrow + R"(, "type": "integrated", "driver_version": "Mesa 25.0.7")"))
                  .no_coopmat);
        CHECK_FALSE(quirks(made_up("Iris Xe", narrow + R"(, "type": "integrated", "driver_version": "Mesa 26.2.0")"))
                        .no_coopmat);
        CHECK_FALSE(quirks(made_up("Arc A770", narrow + R"(, "driver_version": "Mesa 25.0.7")")).no_coopmat);
        CHECK_FALSE(quirks(made_up("Lunar Lake", wide + R"(, "type": "integrated", "driver_version": "Mesa 25.0.7")"))
                        .no_coopmat);
    }
    SECTION("lavapipe's matrices want vectors of 256 bits") {
        CHECK(quirks(made_up("llvmpipe", R"("driver_id": 13, "subgroup_size": 16)")).no_coopmat);
        CHECK(quirks(made_up("llvmpipe", R"("driver_id": 13, "subgroup_size": 4)")).no_coopmat);
        CHECK_FALSE(quirks(made_up("llvmpipe", R"("driver_id": 13, "subgroup_size": 8)")).no_coopmat);
    }
    SECTION("the user's switches") {
        const Quirks all = quirks_of(made_up("good"), true, true, true);
        CHECK((all.no_subgroup && all.no_fp16 && all.no_coopmat));
        REQUIRE(all.reasons.size() == 3);
        CHECK_THAT(all.reasons[0], ContainsSubstring("VANTAGE_DISABLE_SUBGROUP"));
    }
}

TEST_CASE("quirks take away what they name") {
    const Caps caps = made_up("good", R"("subgroup_size_control": true, "cooperative_matrices": [
        {"m": 16, "n": 16, "k": 16, "a": "f16", "b": "f16", "c": "f32"}, {"m": 16, "n": 16, "k": 16, "a": "s8", "b": "s8", "c": "s32"}])");
    Quirks quirks;
    quirks.no_fp16 = true;
    CHECK_FALSE(caps_with_quirks(caps, quirks).fp16);
    CHECK(caps_with_quirks(caps, quirks).cooperative_matrices.size() == 1);
    quirks = {};
    quirks.no_coopmat = true;
    CHECK(caps_with_quirks(caps, quirks).cooperative_matrices.empty());
    CHECK(caps_with_quirks(caps, quirks).subgroup_arithmetic);
    quirks = {};
    quirks.no_subgroup = true;
    const Caps left = caps_with_quirks(caps, quirks);
    CHECK_FALSE(
        (left.subgroup_arithmetic || left.subgroup_shuffle || left.subgroup_quad || left.subgroup_size_control));
    CHECK(left.cooperative_matrices.empty());
    CHECK(caps_to_json(caps_with_quirks(caps, {})) == caps_to_json(caps));
}

TEST_CASE("without a wish the best GPU is taken") {
    auto devices =
        listed({made_up("llvmpipe", R"("type": "cpu", "device_memory": 99999999999)"),
                made_up("iGPU", R"("type": "integrated")"), made_up("small card", R"("device_memory": 4294967296)"),
                made_up("big card"), made_up("old card", R"("device_memory": 99999999999, "api_version": "1.2.0")")});
    CHECK(choose_device(devices, "auto") == 3);
    CHECK(choose_device(devices, "") == 3);
    CHECK(devices[3].chosen);
    CHECK_THAT(devices[3].reason, ContainsSubstring("best GPU"));
    CHECK_THAT(devices[0].reason, ContainsSubstring("only when asked for"));
    CHECK_THAT(devices[1].reason, ContainsSubstring("vulkan:3 is preferred"));
    CHECK_THAT(devices[4].reason, ContainsSubstring("1.2.0"));
    CHECK((devices[0].usable && devices[1].usable && devices[2].usable && !devices[4].usable));
}

TEST_CASE("a software device is taken when it is alone") {
    auto devices = listed({made_up("SwiftShader", R"("type": "cpu", "driver_id": 10)"),
                           made_up("llvmpipe", R"("type": "cpu", "driver_id": 13)")});
    CHECK(choose_device(devices, "auto") == 1);
    CHECK_THAT(devices[1].reason, ContainsSubstring("there is no GPU"));
    auto beside =
        listed({made_up("llvmpipe", R"("type": "cpu")"), made_up("ancient GPU", R"("api_version": "1.0.0")")});
    CHECK(choose_device(beside, "auto") == 0);
    CHECK_THAT(beside[0].reason, ContainsSubstring("no GPU can be used"));
}

TEST_CASE("one GPU under two drivers counts once") {
    const std::string radv = std::string(uuid_a) + R"(, "driver_id": 3, "driver": "radv")";
    const std::string amdvlk = std::string(uuid_a) + R"(, "driver_id": 2, "driver": "AMDVLK")";
    auto devices = listed({made_up("Radeon", amdvlk), made_up("Radeon", radv), made_up("Radeon", uuid_b)});
    CHECK(choose_device(devices, "auto") == 1);
    CHECK_THAT(devices[0].reason, ContainsSubstring("the same device as vulkan:1") && ContainsSubstring("radv"));
    SECTION("its index still reaches the other driver") { CHECK(choose_device(devices, "vulkan:0") == 0); }
    SECTION("its UUID means the better driver, without a warning") {
        const Logged logged;
        CHECK(choose_device(devices, "uuid:00112233-4455-6677-8899-aabbccddeeff") == 1);
        CHECK(logged.text.empty());
    }
    SECTION("a better driver that cannot be used does not count") {
        devices[1].caps.timeline_semaphore = false;
        CHECK(choose_device(devices, "uuid:0011") == 0);
    }
    SECTION("devices without a UUID are never merged") {
        auto nameless = listed({made_up("A", R"("driver_id": 3)"), made_up("B", R"("driver_id": 2)")});
        judge_devices(nameless);
        CHECK_THAT(nameless[1].reason, ContainsSubstring("preferred"));
        CHECK_THAT(nameless[1].reason, !ContainsSubstring("same"));
    }
}

TEST_CASE("a wish names a device in several ways") {
    auto devices = listed({made_up("Intel(R) Arc(tm) A770", uuid_a), made_up("NVIDIA RTX 4090", uuid_b),
                           made_up("llvmpipe", R"("type": "cpu")")});
    CHECK(choose_device(devices, "0") == 0);
    CHECK(choose_device(devices, "vulkan:1") == 1);
    CHECK(choose_device(devices, "Vulkan1") == 1);
    CHECK(choose_device(devices, "cpu") == 2);
    CHECK(choose_device(devices, "name:arc") == 0);
    CHECK(choose_device(devices, "NAME:RTX") == 1);
    CHECK(choose_device(devices, "uuid:FFEEDDCCBBAA") == 1);
    CHECK(choose_device(devices, "name:arc", "VANTAGE_DEVICE") == 0);
    CHECK(devices[0].chosen);
    CHECK_THAT(devices[0].reason, ContainsSubstring("VANTAGE_DEVICE"));
    CHECK_FALSE(devices[1].chosen);
}

TEST_CASE("a name that fits several takes the best and says so") {
    auto devices = listed({made_up("Radeon small", R"("device_memory": 1000)"), made_up("Radeon big", uuid_a)});
    const Logged logged;
    CHECK(choose_device(devices, "name:radeon") == 1);
    CHECK_THAT(logged.text, ContainsSubstring("fits several") && ContainsSubstring("Radeon big"));
}

TEST_CASE("a wish that cannot be met says why") {
    const auto devices = listed({made_up("Good GPU"), made_up("Old GPU", R"("api_version": "1.1.0")")});
    for (const char* wish : {"vulkan:7", "name:nothing", "uuid:99", "cpu", "99999999999999999999"}) {
        INFO(wish);
        const Error error = error_of(devices, wish);
        CHECK(error.kind() == ErrorKind::usage);
        CHECK_THAT(error.what(),
                   ContainsSubstring("Good GPU") && ContainsSubstring("Old GPU") && ContainsSubstring(wish));
    }
    for (const char* wish : {"toaster", "name:", "uuid:", "vulkan:x", "-1"}) {
        INFO(wish);
        const Error error = error_of(devices, wish);
        CHECK(error.kind() == ErrorKind::usage);
        CHECK_THAT(error.what(), ContainsSubstring("use auto, cpu"));
    }
    const Error old = error_of(devices, "vulkan:1");
    CHECK(old.kind() == ErrorKind::no_device);
    CHECK_THAT(old.what(), ContainsSubstring("Old GPU cannot be used") && ContainsSubstring("Vulkan 1.3"));
}

TEST_CASE("nothing usable: the reason for each device") {
    const Error none = error_of({}, "auto");
    CHECK(none.kind() == ErrorKind::no_device);
    CHECK_THAT(none.what(), ContainsSubstring("install"));
    CHECK(error_of({}, "vulkan:0").kind() == ErrorKind::no_device);
    const Error all = error_of(
        listed({made_up("A", R"("api_version": "1.0.0")"), made_up("B", R"("synchronization2": false)")}), "auto");
    CHECK(all.kind() == ErrorKind::no_device);
    CHECK_THAT(all.what(),
               ContainsSubstring("A: it lacks Vulkan 1.3") && ContainsSubstring("B: it lacks synchronization2"));
}
