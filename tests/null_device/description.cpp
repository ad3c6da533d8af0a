// What the null device says about itself: instance, features, limits, memory. Everything that Vantage may use is there,
// except cooperative matrices and sharing with other processes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tests/null_device/functions.h"

namespace null_device {
namespace {

constexpr std::uint32_t subgroup_size = 32;
constexpr VkSubgroupFeatureFlags subgroup_operations =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
    VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |
    VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
constexpr std::uint32_t max_invocations = 1024;
constexpr VkDeviceSize max_allocation = VkDeviceSize{1} << 31;
constexpr std::string_view device_name = "Null device";

Dispatchable physical_device;

template <std::size_t size>
void write_text(char (&to)[size], std::string_view text) {
    std::copy(text.begin(), text.end(), to);
    to[text.size()] = '\0';
}
void write_uuid(std::uint8_t (&to)[VK_UUID_SIZE]) { std::copy(device_name.begin(), device_name.end(), to); }

/// Copies `all` to a caller that gives room for `*count` elements, or asks for their number.
template <class Element>
VkResult list(std::span<const Element> all, std::uint32_t* count, Element* to) {
    const auto there = static_cast<std::uint32_t>(all.size());
    if (to == nullptr) {
        *count = there;
        return VK_SUCCESS;
    }
    *count = std::min(*count, there);
    for (std::uint32_t i = 0; i < *count; ++i) to[i] = all[i];
    return *count < there ? VK_INCOMPLETE : VK_SUCCESS;
}

template <class Struct>
Struct& as(VkBaseOutStructure* link) {
    return *reinterpret_cast<Struct*>(link);
}

/// Sets all fields after sType and pNext, which must be VkBool32.
template <class Struct>
void enable_all(VkBaseOutStructure* link) {
    constexpr std::size_t count = (sizeof(Struct) - sizeof(VkBaseOutStructure)) / sizeof(VkBool32);
    std::fill_n(reinterpret_cast<VkBool32*>(link + 1), count, VK_TRUE);
}

void describe_features(VkBaseOutStructure* link) {
    switch (link->sType) {
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
            return enable_all<VkPhysicalDeviceVulkan11Features>(link);
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
            return enable_all<VkPhysicalDeviceVulkan12Features>(link);
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
            return enable_all<VkPhysicalDeviceVulkan13Features>(link);
        default: return;
    }
}

void describe_13(VkPhysicalDeviceVulkan13Properties& p) {
    p.minSubgroupSize = p.maxSubgroupSize = subgroup_size;
    p.maxComputeWorkgroupSubgroups = max_invocations / subgroup_size;
    p.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
    p.integerDotProduct4x8BitPackedSignedAccelerated = VK_TRUE;
    p.maxBufferSize = max_allocation;
}

/// Vantage asks for the small structures, the validation layer for those of whole versions.
void describe_properties(VkBaseOutStructure* link) {
    switch (link->sType) {
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceDriverProperties>(link);
            write_text(p.driverName, device_name);
            write_text(p.driverInfo, "1.0");
            p.conformanceVersion = {1, 3, 0, 0};
            return;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceIDProperties>(link);
            write_uuid(p.deviceUUID);
            return write_uuid(p.driverUUID);
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceSubgroupProperties>(link);
            p.subgroupSize = subgroup_size;
            p.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
            p.supportedOperations = subgroup_operations;
            return;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceMaintenance3Properties>(link);
            p.maxPerSetDescriptors = 1024;
            p.maxMemoryAllocationSize = max_allocation;
            return;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceVulkan11Properties>(link);
            p.subgroupSize = subgroup_size;
            p.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
            p.subgroupSupportedOperations = subgroup_operations;
            p.maxMemoryAllocationSize = max_allocation;
            return;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES:
            as<VkPhysicalDeviceVulkan12Properties>(link).maxTimelineSemaphoreValueDifference = ~std::uint64_t{0};
            return;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES:
            return describe_13(as<VkPhysicalDeviceVulkan13Properties>(link));
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES: {
            auto& p = as<VkPhysicalDeviceSubgroupSizeControlProperties>(link);
            p.minSubgroupSize = p.maxSubgroupSize = subgroup_size;
            p.maxComputeWorkgroupSubgroups = max_invocations / subgroup_size;
            p.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
            return;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES:
            as<VkPhysicalDeviceMaintenance4Properties>(link).maxBufferSize = max_allocation;
            return;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES:
            return enable_all<VkPhysicalDeviceShaderIntegerDotProductProperties>(link);
        default: return;
    }
}

VkPhysicalDeviceLimits limits() {
    VkPhysicalDeviceLimits l{};
    l.maxMemoryAllocationCount = 4096;
    l.maxStorageBufferRange = l.maxUniformBufferRange = 1u << 31;
    l.maxPushConstantsSize = 256;
    l.bufferImageGranularity = l.nonCoherentAtomSize = 1;
    l.maxComputeSharedMemorySize = 64 << 10;
    l.maxComputeWorkGroupInvocations = max_invocations;
    for (std::size_t i = 0; i < 3; ++i) {
        l.maxComputeWorkGroupCount[i] = i == 0 ? 0x7fffffff : 0xffff;
        l.maxComputeWorkGroupSize[i] = i == 2 ? 64 : max_invocations;
    }
    l.minMemoryMapAlignment = 4096;
    l.minStorageBufferOffsetAlignment = l.minUniformBufferOffsetAlignment = l.minTexelBufferOffsetAlignment = 16;
    l.optimalBufferCopyOffsetAlignment = l.optimalBufferCopyRowPitchAlignment = 1;
    l.timestampComputeAndGraphics = VK_TRUE;
    l.timestampPeriod = 1;
    return l;
}

}  // namespace

// ---- instance ------------------------------------------------------------------------------------------------------

VkResult CreateInstance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* made) {
    *made = handle_of<VkInstance>(new Dispatchable);
    return VK_SUCCESS;
}
void DestroyInstance(VkInstance instance, const VkAllocationCallbacks*) { delete &object_of<Dispatchable>(instance); }
VkResult EnumerateInstanceExtensionProperties(const char*, std::uint32_t* count, VkExtensionProperties* to) {
    return list<VkExtensionProperties>({}, count, to);
}
VkResult EnumerateInstanceVersion(std::uint32_t* version) {
    *version = VK_API_VERSION_1_3;
    return VK_SUCCESS;
}
VkResult EnumeratePhysicalDevices(VkInstance, std::uint32_t* count, VkPhysicalDevice* to) {
    const std::array<VkPhysicalDevice, 1> all{handle_of<VkPhysicalDevice>(&physical_device)};
    return list<VkPhysicalDevice>(all, count, to);
}

// ---- physical device -----------------------------------------------------------------------------------------------

VkResult EnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, std::uint32_t* count,
                                            VkExtensionProperties* to) {
    constexpr VkExtensionProperties budget{VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_MEMORY_BUDGET_SPEC_VERSION};
    return list<VkExtensionProperties>(std::array{budget}, count, to);
}
VkResult EnumerateDeviceLayerProperties(VkPhysicalDevice, std::uint32_t* count, VkLayerProperties* to) {
    return list<VkLayerProperties>({}, count, to);
}
void GetPhysicalDeviceFeatures(VkPhysicalDevice, VkPhysicalDeviceFeatures* features) {
    constexpr std::size_t count = sizeof *features / sizeof(VkBool32);
    std::fill_n(reinterpret_cast<VkBool32*>(features), count, VK_TRUE);
}
void GetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
    GetPhysicalDeviceFeatures(device, &features->features);
    for (auto* link = static_cast<VkBaseOutStructure*>(features->pNext); link != nullptr; link = link->pNext)
        describe_features(link);
}
void GetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
    *properties = {};
    properties->apiVersion = VK_MAKE_API_VERSION(0, 1, 3, 0);
    properties->driverVersion = VK_MAKE_API_VERSION(0, 1, 0, 0);
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    write_text(properties->deviceName, device_name);
    write_uuid(properties->pipelineCacheUUID);
    properties->limits = limits();
}
void GetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
    GetPhysicalDeviceProperties(device, &properties->properties);
    for (auto* link = static_cast<VkBaseOutStructure*>(properties->pNext); link != nullptr; link = link->pNext)
        describe_properties(link);
}
void GetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
    *memory = {};
    memory->memoryTypeCount = memory->memoryHeapCount = 1;
    memory->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    memory->memoryHeaps[0] = {heap_bytes(), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}
void GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* memory) {
    GetPhysicalDeviceMemoryProperties(device, &memory->memoryProperties);
    for (auto* link = static_cast<VkBaseOutStructure*>(memory->pNext); link != nullptr; link = link->pNext) {
        if (link->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) continue;
        as<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(link).heapBudget[0] = heap_bytes();
        as<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(link).heapUsage[0] = allocated_bytes();
    }
}
void GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* to) {
    constexpr VkQueueFamilyProperties family{VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}};
    list<VkQueueFamilyProperties>(std::array{family}, count, to);
}
void GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice device, std::uint32_t* count,
                                             VkQueueFamilyProperties2* to) {
    GetPhysicalDeviceQueueFamilyProperties(device, count, to == nullptr ? nullptr : &to->queueFamilyProperties);
}

// ---- what the device does not have: images, sharing with other processes -------------------------------------------

void GetPhysicalDeviceFormatProperties(VkPhysicalDevice, VkFormat, VkFormatProperties* properties) { *properties = {}; }
void GetPhysicalDeviceFormatProperties2(VkPhysicalDevice, VkFormat, VkFormatProperties2* properties) {
    properties->formatProperties = {};
}
VkResult GetPhysicalDeviceImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling,
                                                VkImageUsageFlags, VkImageCreateFlags, VkImageFormatProperties*) {
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
}
VkResult GetPhysicalDeviceImageFormatProperties2(VkPhysicalDevice, const VkPhysicalDeviceImageFormatInfo2*,
                                                 VkImageFormatProperties2*) {
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
}
void GetPhysicalDeviceSparseImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkSampleCountFlagBits,
                                                  VkImageUsageFlags, VkImageTiling, std::uint32_t* count,
                                                  VkSparseImageFormatProperties*) {
    *count = 0;
}
void GetPhysicalDeviceSparseImageFormatProperties2(VkPhysicalDevice, const VkPhysicalDeviceSparseImageFormatInfo2*,
                                                   std::uint32_t* count, VkSparseImageFormatProperties2*) {
    *count = 0;
}
void GetPhysicalDeviceExternalBufferProperties(VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo*,
                                               VkExternalBufferProperties* properties) {
    properties->externalMemoryProperties = {};
}
void GetPhysicalDeviceExternalSemaphoreProperties(VkPhysicalDevice, const VkPhysicalDeviceExternalSemaphoreInfo*,
                                                  VkExternalSemaphoreProperties* properties) {
    properties->externalSemaphoreFeatures = 0;
}
void GetPhysicalDeviceExternalFenceProperties(VkPhysicalDevice, const VkPhysicalDeviceExternalFenceInfo*,
                                              VkExternalFenceProperties* properties) {
    properties->externalFenceFeatures = 0;
}
VkResult GetPhysicalDeviceToolProperties(VkPhysicalDevice, std::uint32_t* count, VkPhysicalDeviceToolProperties* to) {
    return list<VkPhysicalDeviceToolProperties>({}, count, to);
}

}  // namespace null_device
