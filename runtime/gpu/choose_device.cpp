#include "runtime/gpu/choose_device.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/log.h"

namespace vantage::internal {
namespace {

/// Of two drivers for one GPU, or of two software devices, the one with the lower rank is preferred: it is typically
/// faster and more complete. The ids are values of VkDriverId; plain numbers, so that this file needs no Vulkan header.
int driver_rank(const Caps& caps) {
    static constexpr std::array<std::pair<std::uint32_t, int>, 10> ranks{{
        {3, 0},   // Mesa RADV, preferred to AMD's two drivers
        {2, 1},   // AMDVLK
        {1, 2},   // AMD proprietary
        {4, 0},   // NVIDIA proprietary, preferred to NVK
        {24, 1},  // Mesa NVK
        {14, 3},  // MoltenVK: Vulkan on Metal
        {22, 7},  // Mesa Venus: forwards to a driver of the host system
        {23, 8},  // Mesa Dozen: Vulkan on Direct3D 12
        {13, 0},  // lavapipe, preferred to SwiftShader
        {10, 1},  // SwiftShader: slower, and without fp16
    }};
    for (const auto& [driver_id, rank] : ranks)
        if (driver_id == caps.driver_id) return rank;
    return 1;
}

auto type_rank(DeviceType type) {
    static constexpr DeviceType best_first[] = {DeviceType::discrete, DeviceType::integrated, DeviceType::virtual_gpu,
                                                DeviceType::other, DeviceType::cpu};
    return std::ranges::find(best_first, type) - best_first;
}

/// Smaller is better.
auto order_of(const DeviceListing& device) {
    return std::make_tuple(type_rank(device.caps.type), ~device.caps.device_memory, driver_rank(device.caps),
                           device.index);
}

bool has_uuid(const Caps& caps) {
    return std::ranges::any_of(caps.uuid, [](std::uint8_t byte) { return byte != 0; });
}

/// The same GPU with a preferred driver, if it is usable, or null.
const DeviceListing* better_twin(std::span<const DeviceListing> devices, const DeviceListing& device) {
    for (const DeviceListing& other : devices) {
        if (&other == &device || !other.usable || !has_uuid(device.caps) || other.caps.uuid != device.caps.uuid)
            continue;
        const auto rank = [](const DeviceListing& one) { return std::make_pair(driver_rank(one.caps), one.index); };
        if (rank(other) < rank(device)) return &other;
    }
    return nullptr;
}

/// "vulkan:0 = llvmpipe (LLVM 15.0.6, 256 bits) [llvmpipe, uuid:6d65…]"
std::string line_of(const DeviceListing& device) {
    return format("vulkan:{} = {} [{}, uuid:{}]", device.index, device.caps.name, device.caps.driver,
                  uuid_text(device.caps.uuid));
}

std::string list_of(std::span<const DeviceListing> devices) { return join(devices, "; ", line_of); }

[[noreturn]] void throw_nothing_usable(std::span<const DeviceListing> devices) {
    if (devices.empty())
        throw Error(
            ErrorKind::no_device,
            "no Vulkan device: install a driver, such as mesa-vulkan-drivers (Debian, Ubuntu; it also runs on the "
            "CPU) or the GPU vendor's");
    throw Error(ErrorKind::no_device,
                "no Vulkan device can be used: " + join(devices, "; ", [](const DeviceListing& device) {
                    return format("vulkan:{} = {}: {}", device.index, device.caps.name, device.reason);
                }));
}

/// ASCII only, as device names are.
std::string lower(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

std::string without_dashes(std::string text) {
    std::erase(text, '-');
    return text;
}

using Match = std::function<bool(const DeviceListing&)>;

/// The test for a device that a wish names. Nothing when the wish has no known form.
std::optional<Match> parse_wish(const std::string& wish) {
    const std::string text = lower(wish);
    const auto after = [&](std::string_view start) {
        return text.starts_with(start) ? std::optional(text.substr(start.size())) : std::nullopt;
    };
    const std::string number = after("vulkan:").value_or(after("vulkan").value_or(text));
    if (!number.empty() && number.find_first_not_of("0123456789") == std::string::npos) {
        int index = -1;
        std::from_chars(number.data(), number.data() + number.size(), index);
        return [index](const DeviceListing& device) { return device.index == index; };
    }
    if (text == "cpu") return [](const DeviceListing& device) { return device.caps.is_cpu(); };
    if (const auto uuid = after("uuid:"); uuid && !uuid->empty()) {
        return [wanted = without_dashes(*uuid)](const DeviceListing& device) {
            return without_dashes(uuid_text(device.caps.uuid)).starts_with(wanted);
        };
    }
    if (const auto name = after("name:"); name && !name->empty()) {
        return [part = *name](const DeviceListing& device) {
            return lower(device.caps.name).find(part) != std::string::npos;
        };
    }
    return std::nullopt;
}

/// Indices of the matching devices, best first: usable ones, then those without a better twin, then by `order_of`.
std::vector<std::size_t> matches(std::span<const DeviceListing> devices, const Match& match) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (match(devices[i])) found.push_back(i);
    const auto key = [&](std::size_t i) {
        return std::make_tuple(!devices[i].usable, better_twin(devices, devices[i]) != nullptr, order_of(devices[i]));
    };
    std::ranges::sort(found, {}, key);
    return found;
}

void mark_chosen(std::span<DeviceListing> devices, std::size_t chosen, const std::string& reason) {
    for (DeviceListing& device : devices) {
        if (device.chosen) device.reason = "another device was asked for";
        device.chosen = false;
    }
    devices[chosen].chosen = true;
    devices[chosen].reason = reason;
}

}  // namespace

void judge_devices(std::span<DeviceListing> devices) {
    for (DeviceListing& device : devices) {
        const std::vector<std::string> missing = missing_requirements(device.caps);
        device.usable = missing.empty();
        device.chosen = false;
        device.reason = missing.empty() ? "" : "it lacks " + join(missing);
    }
    DeviceListing* best = nullptr;
    for (DeviceListing& device : devices) {
        if (!device.usable) continue;
        if (const DeviceListing* twin = better_twin(devices, device)) {
            device.reason =
                format("the same device as vulkan:{}, whose driver ({}) is preferred", twin->index, twin->caps.driver);
        } else if (best == nullptr || order_of(device) < order_of(*best)) {
            best = &device;
        }
    }
    if (best == nullptr) return;
    best->chosen = true;
    const bool gpus = std::ranges::any_of(devices, [](const DeviceListing& one) { return !one.caps.is_cpu(); });
    best->reason = !best->caps.is_cpu() ? "the best GPU"
                   : gpus               ? "no GPU can be used; this is the best software device"
                                        : "there is no GPU; this is the best software device";
    for (DeviceListing& device : devices) {
        if (!device.reason.empty()) continue;
        device.reason = device.caps.is_cpu() && !best->caps.is_cpu()
                            ? "a software device: used only when asked for (--device cpu) or when there is no GPU"
                            : format("vulkan:{} is preferred", best->index);
    }
}

std::size_t choose_device(std::span<DeviceListing> devices, const std::string& wish, const std::string& source) {
    judge_devices(devices);
    if (wish.empty() || lower(wish) == "auto") {
        const auto best = std::ranges::find_if(devices, [](const DeviceListing& one) { return one.chosen; });
        if (best == devices.end()) throw_nothing_usable(devices);
        return static_cast<std::size_t>(best - devices.begin());
    }
    const std::optional<Match> match = parse_wish(wish);
    if (!match)
        throw usage_error("{} '{}' is not a device: use auto, cpu, vulkan:INDEX, uuid:… or name:…; there are: {}",
                          source, wish, list_of(devices));
    if (devices.empty()) throw_nothing_usable(devices);
    const std::vector<std::size_t> found = matches(devices, *match);
    if (found.empty()) throw usage_error("{} '{}' names no device; there are: {}", source, wish, list_of(devices));
    const DeviceListing& taken = devices[found.front()];
    if (!taken.usable)
        throw Error(ErrorKind::no_device,
                    format("{} '{}': {} cannot be used: {}", source, wish, taken.caps.name, taken.reason));
    if (found.size() > 1 && devices[found[1]].usable && better_twin(devices, devices[found[1]]) == nullptr)
        log(LogLevel::warning, "{} '{}' fits several devices; using {}", source, wish, line_of(taken));
    mark_chosen(devices, found.front(), "asked for: " + source + " " + wish);
    return found.front();
}

}  // namespace vantage::internal
