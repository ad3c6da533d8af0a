#include "vantage/device.h"

#include <algorithm>
#include <optional>

#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/trace_span.h"
#include "runtime/base/version.h"
#include "runtime/gpu/choose_device.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/instance.h"
#include "vantage/vulkan.h"

namespace vantage {

Quirks gpu::quirks_here(const Caps& caps) {
    return quirks_of(caps, environment_flag("VANTAGE_DISABLE_SUBGROUP") || !has_family("subgroup"),
                     environment_flag("VANTAGE_DISABLE_FP16"), environment_flag("VANTAGE_DISABLE_COOPMAT"));
}

namespace {

using gpu::vk_struct;

/// Bytes of device memory that are left, without opening the device.
std::uint64_t memory_left(VkPhysicalDevice physical, const Caps& caps) {
    if (!caps.memory_budget) return caps.device_memory;
    auto budget = vk_struct<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    auto memory = vk_struct<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
    memory.pNext = &budget;
    vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
    const bool one_memory = caps.type == DeviceType::integrated || caps.is_cpu();
    std::uint64_t left = 0;
    for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
        const bool local = (memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
        if (local || one_memory) left += budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]);
    }
    return left;
}

/// All devices. If a driver fails, its device has empty caps, `broken` gets the first such error, and the others are
/// still listed.
std::vector<DeviceListing> listings_of(std::span<const VkPhysicalDevice> physical, std::optional<Error>& broken) {
    std::vector<DeviceListing> listings;
    for (std::size_t i = 0; i < physical.size(); ++i) {
        DeviceListing listing;
        try {
            const Caps raw = read_caps(physical[i]);
            listing.caps = caps_with_quirks(raw, gpu::quirks_here(raw));
            listing.memory_available = memory_left(physical[i], raw);
        } catch (const Error& error) {
            log(LogLevel::warning, "cannot read the properties of vulkan:{}: {}", i, error.what());
            if (!broken) broken = error;
        }
        listing.index = static_cast<int>(i);
        listings.push_back(std::move(listing));
    }
    return listings;
}

constexpr const char* wish_argument = "device";  // of Device::open, or --device

/// The device that the user asks for: `wish`, or VANTAGE_DEVICE if that is empty.
struct Wish {
    std::string text, source;
};
Wish resolve(const std::string& wish) {
    if (!wish.empty()) return {wish, wish_argument};
    return {environment("VANTAGE_DEVICE").value_or("auto"), "VANTAGE_DEVICE"};
}

/// Using a software device because the GPU cannot be used is a fallback.
void report_software_fallback(std::span<const DeviceListing> devices, const Caps& chosen) {
    const auto gpu = std::ranges::find_if(devices, [](const DeviceListing& one) { return !one.caps.is_cpu(); });
    if (chosen.is_cpu() && gpu != devices.end())
        fall_back(gpu->caps.name + " cannot be used: " + gpu->reason + "; running in software on " + chosen.name);
}

Device open_device(const std::string& wish, std::span<const char* const> extensions) {
    const TraceSpan span("open device", Worker::driver);
    std::shared_ptr<gpu::Instance> instance = gpu::Instance::get(extensions);
    const std::vector<VkPhysicalDevice> physical = instance->physical_devices();
    std::optional<Error> broken;
    std::vector<DeviceListing> listings = listings_of(physical, broken);
    const auto [text, source] = resolve(wish);
    std::size_t chosen = 0;
    try {
        chosen = choose_device(listings, text, source);
    } catch (const Error&) {
        if (broken) throw Error(*broken);  // most likely the reason why nothing fits
        throw;
    }
    const Caps& caps = listings[chosen].caps;
    if (text == "auto") report_software_fallback(listings, caps);
    log(LogLevel::info, "device vulkan:{}: {}, {} {} ({})", listings[chosen].index, caps.name, caps.driver,
        caps.driver_version, listings[chosen].reason);
    for (const std::string& reason : gpu::quirks_here(read_caps(physical[chosen])).reasons)
        log(LogLevel::info, "quirk: {}", reason);
    return Device(gpu::DeviceState::open(std::move(instance), physical[chosen], caps, !extensions.empty()));
}

}  // namespace

Device Device::open(const std::string& wish) { return open_device(wish, {}); }

Device open_for_windows(const std::string& wish, const std::vector<const char*>& instance_extensions) {
    return open_device(wish, instance_extensions);
}

std::vector<DeviceListing> Device::list(const std::string& wish) {
    gpu::load_vulkan();  // without a loader this throws; without a driver the list is empty
    std::shared_ptr<gpu::Instance> instance;
    try {
        instance = gpu::Instance::get();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::no_device) return {};
        throw;
    }
    std::optional<Error> broken;  // the listing of that device shows it
    std::vector<DeviceListing> listings = listings_of(instance->physical_devices(), broken);
    const auto [text, source] = resolve(wish);
    try {
        static_cast<void>(choose_device(listings, text, source));
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::usage && source == wish_argument) throw;
        // A wrong VANTAGE_DEVICE must not hide the list from a user who looks for the right name.
        judge_devices(listings);
        for (DeviceListing& listing : listings) {
            if (listing.chosen) listing.reason += std::string(", but ") + error.what();
            listing.chosen = false;
        }
    }
    return listings;
}

const Caps& Device::caps() const { return state_->caps(); }
std::uint64_t Device::memory_available() const { return state_->memory_available(); }
int Device::validation_errors() { return gpu::validation_error_count(); }

}  // namespace vantage
