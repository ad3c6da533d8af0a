// vantage devices: lists Vulkan devices and the chosen one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "runtime/base/format.h"
#include "runtime/gpu/choose_device.h"

namespace vantage::cli {
namespace {
Json listing_json(const DeviceListing& device) {
    Json object = Json::parse(caps_to_json(device.caps));
    object["index"] = device.index;
    object["usable"] = device.usable;
    object["chosen"] = device.chosen;
    object["reason"] = device.reason;
    object["memory"] = device.caps.device_memory;
    object["memory_available"] = device.memory_available;
    return object;
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::string subgroups_text(const Caps& caps) {
    std::string text = std::to_string(caps.subgroup_size);
    if (caps.min_subgroup_size != caps.max_subgroup_size)
        text += format(" ({} to {}{})", caps.min_subgroup_size, caps.max_subgroup_size,
                       caps.subgroup_size_control ? ", selectable" : "");
    text += std::string("; arithmetic ") + yes_no(caps.subgroup_arithmetic);
    return text + ", shuffle " + yes_no(caps.subgroup_shuffle) + ", quad " + yes_no(caps.subgroup_quad);
}

std::string matrices_text(const Caps& caps) {
    if (caps.cooperative_matrices.empty()) return "none";
    return join(caps.cooperative_matrices, ", ",
                [](const CooperativeMatrix& m) { return format("{}x{}x{} {}*{}+{}", m.m, m.n, m.k, m.a, m.b, m.c); });
}

void print(const DeviceListing& device) {
    const Caps& caps = device.caps;
    const std::uint32_t version = caps.api_version;
    print_line("{} vulkan:{}  {}", device.chosen ? "*" : " ", device.index, caps.name);
    const auto line = [](const char* what, const std::string& text) { print_line("    {:<10} {}", what, text); };
    line("status", (device.chosen ? "chosen: " : device.usable ? "not chosen: " : "not usable: ") + device.reason);
    line("type", name_of(caps.type));
    line("uuid", uuid_text(caps.uuid));
    if (!caps.pci.empty()) line("pci", caps.pci);
    line("driver", caps.driver + (caps.driver.empty() ? "" : ", ") + caps.driver_version +
                       format(", Vulkan {}.{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff));
    line("memory", bytes_text(caps.device_memory) + ", " + bytes_text(device.memory_available) + " available" +
                       (caps.memory_budget ? "" : " at most") + (caps.unified_memory ? ", shared with the host" : ""));
    line("compute", (caps.processors > 0 ? format("{} processors, ", caps.processors) : "") +
                        format("workgroups of {}, ", caps.max_workgroup_invocations) +
                        bytes_text(caps.max_shared_memory) + " shared memory");
    line("subgroups", subgroups_text(caps));
    line("types", format("fp16 {}, 16-bit storage {}, int8 {}, int8 dot products {}", yes_no(caps.fp16),
                         yes_no(caps.storage16), yes_no(caps.int8), yes_no(caps.integer_dot_accelerated)));
    line("matrices", matrices_text(caps));
}

void run(bool as_json) {
    const std::vector<DeviceListing> devices = Device::list(common().device);
    if (as_json)
        write_json(json_list(devices, listing_json));
    else
        for (const DeviceListing& device : devices) print(device);
    if (std::ranges::any_of(devices, &DeviceListing::usable)) return;
    if (devices.empty())
        throw Error(
            ErrorKind::no_device,
            "no Vulkan device; install a driver: the GPU vendor's, or mesa-vulkan-drivers (Debian, Ubuntu), which also "
            "includes a CPU driver");
    throw Error(ErrorKind::no_device,
                "no usable Vulkan device: " + devices.front().caps.name + ": " + devices.front().reason);
}

}  // namespace

void add_devices(CLI::App& app) {
    CLI::App& command = add_command(app, "devices", "List Vulkan devices, with the chosen one and the reason",
                                    "Example: vantage devices --json");
    auto as_json = std::make_shared<bool>(false);
    command.add_flag("--json", *as_json, "Print a JSON array");
    command.callback([as_json] { run(*as_json); });
}

}  // namespace vantage::cli
