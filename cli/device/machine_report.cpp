#include "cli/device/machine_report.h"

#include <sys/utsname.h>

#include <algorithm>
#include <thread>

#include "runtime/base/options.h"
#include "runtime/base/version.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/gpu/device_state.h"

namespace vantage::cli {

namespace {

Json build_json() {
    const BuildFacts& facts = build_facts();
    return {{"version", facts.version}, {"commit", facts.commit},     {"compiler", facts.compiler},
            {"glslang", facts.glslang}, {"families", facts.families}, {"left_out", facts.left_out}};
}

Json system_json() {
    utsname names{};
    ::uname(&names);  // not its nodename, the name of the host, nor the release, which may have it
    return {{"system", names.sysname}, {"machine", names.machine}, {"threads", std::thread::hardware_concurrency()}};
}

Json device_json(const Device& device) {
    const Caps& caps = device.caps();
    Json object = Json::parse(caps_to_json(caps));
    object.erase("uuid");  // the identity of one device of its kind
    object["extensions"] = device.state().parts.extensions;
    object["quirks"] = gpu::quirks_here(caps).reasons;
    object["memory_available"] = device.memory_available();
    return object;
}

/// Variables that change what runs, where they are set: switches and numbers with their values, others without, because
/// they may name folders.
Json switches_json() {
    Json switches = Json::object();
    for (const char* name : {"VANTAGE_DISABLE_SUBGROUP", "VANTAGE_DISABLE_FP16", "VANTAGE_DISABLE_COOPMAT",
                             "VANTAGE_DISABLE_FUSION", "VANTAGE_DISABLE_TUNING", "VANTAGE_GUARD", "VANTAGE_VALIDATE",
                             "VANTAGE_TIMEOUT", "VANTAGE_FAULT", "LP_NUM_THREADS", "LP_NATIVE_VECTOR_WIDTH"})
        if (const auto value = environment(name)) {
            const bool plain =
                std::ranges::all_of(*value, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
            switches[name] = plain ? *value : "set";
        }
    for (const char* name :
         {"VANTAGE_ASSETS", "VANTAGE_CACHE_DIR", "VANTAGE_DEVICE", "VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES",
          "VK_ICD_FILENAMES", "VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE", "VK_LOADER_DRIVERS_SELECT",
          "MESA_VK_DEVICE_SELECT", "RADV_DEBUG", "RADV_PERFTEST", "ANV_DEBUG", "INTEL_DEBUG", "NVK_DEBUG"})
        if (environment(name)) switches[name] = "set";
    return switches;
}

/// The kernels that tables choose, by call.
Json tuning_json(const Caps& caps) {
    const auto chosen = [](const TuningTable& table) {
        Json calls = Json::object();
        for (const auto& [call, tuned] : table.calls) calls[call] = tuned.kernel;
        return calls;
    };
    return {{"own", chosen(own_tuning(caps))}, {"installed", chosen(installed_tuning(caps))}};
}

}  // namespace

Json machine_report(const Device& device, Json conform) {
    for (Json& result : conform["results"]) result.erase("rerun");
    return {{"schema_version", 1},           {"build", build_json()},       {"system", system_json()},
            {"device", device_json(device)}, {"switches", switches_json()}, {"tuning", tuning_json(device.caps())},
            {"conform", std::move(conform)}};
}

}  // namespace vantage::cli
