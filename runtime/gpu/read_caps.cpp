// Reads the Caps of a device from its driver. Implements a part of vantage/vulkan.h.
#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/gpu/instance.h"
#include "vantage/vulkan.h"

namespace vantage {
namespace {

using gpu::vk_struct;

// caps.driver_id is a plain number, so that vantage/caps.h needs no Vulkan header.
static_assert(VK_DRIVER_ID_MESA_LLVMPIPE == 13 && VK_DRIVER_ID_MOLTENVK == 14);

DeviceType type_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceType::discrete;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceType::integrated;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceType::virtual_gpu;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceType::cpu;
        default: return DeviceType::other;
    }
}

/// NVIDIA packs version numbers in its own way.
std::string version_text(std::uint32_t driver_id, std::uint32_t version) {
    if (driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        return format("{}.{}.{}.{}", version >> 22, (version >> 14) & 0xff, (version >> 6) & 0xff, version & 0x3f);
    return format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                  VK_API_VERSION_PATCH(version));
}

void read_identity(VkPhysicalDevice physical, const VkPhysicalDeviceProperties& core, Caps& caps) {
    caps.name = core.deviceName;
    caps.vendor_id = core.vendorID;
    caps.device_id = core.deviceID;
    caps.api_version = core.apiVersion;
    caps.type = type_of(core.deviceType);
    caps.driver_version = version_text(0, core.driverVersion);
    if (core.apiVersion < VK_API_VERSION_1_2) return;  // will be rejected; name and version are enough
    auto driver = vk_struct<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    auto ids = vk_struct<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    gpu::chain(properties, driver, ids);
    vkGetPhysicalDeviceProperties2(physical, &properties);
    caps.driver = driver.driverName;
    caps.driver_id = static_cast<std::uint32_t>(driver.driverID);
    caps.driver_version =
        *driver.driverInfo != '\0' ? driver.driverInfo : version_text(caps.driver_id, core.driverVersion);
    std::copy(std::begin(ids.deviceUUID), std::end(ids.deviceUUID), caps.uuid.begin());
}

void read_limits(VkPhysicalDevice physical, const VkPhysicalDeviceProperties& core, Caps& caps) {
    const VkPhysicalDeviceLimits& limits = core.limits;
    caps.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
    std::copy_n(limits.maxComputeWorkGroupSize, 3, caps.max_workgroup_size.begin());
    std::copy_n(limits.maxComputeWorkGroupCount, 3, caps.max_workgroup_count.begin());
    caps.max_shared_memory = limits.maxComputeSharedMemorySize;
    caps.max_push_constants = limits.maxPushConstantsSize;
    caps.timestamp_period = limits.timestampPeriod;
    if (core.apiVersion < VK_API_VERSION_1_3) return;
    auto subgroup =
        vk_struct<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    auto sizes = vk_struct<VkPhysicalDeviceSubgroupSizeControlProperties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    auto memory =
        vk_struct<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    auto buffers =
        vk_struct<VkPhysicalDeviceMaintenance4Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    auto dot = vk_struct<VkPhysicalDeviceShaderIntegerDotProductProperties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    gpu::chain(properties, subgroup, sizes, memory, buffers, dot);
    vkGetPhysicalDeviceProperties2(physical, &properties);
    caps.subgroup_size = std::max(1u, subgroup.subgroupSize);
    const bool in_compute = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    const auto supports = [&](VkSubgroupFeatureFlags bits) {
        return in_compute && (subgroup.supportedOperations & bits) == bits;
    };
    caps.subgroup_arithmetic = supports(VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    caps.subgroup_shuffle = supports(VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    caps.subgroup_quad = supports(VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT);
    caps.min_subgroup_size = sizes.minSubgroupSize != 0 ? sizes.minSubgroupSize : caps.subgroup_size;
    caps.max_subgroup_size = sizes.maxSubgroupSize != 0 ? sizes.maxSubgroupSize : caps.subgroup_size;
    caps.subgroup_size_control = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    caps.max_allocation = memory.maxMemoryAllocationSize;
    caps.max_buffer = buffers.maxBufferSize;
    caps.integer_dot_accelerated = dot.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;
}

void read_pci(VkPhysicalDevice physical, Caps& caps) {
    auto pci = vk_struct<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    gpu::chain(properties, pci);
    vkGetPhysicalDeviceProperties2(physical, &properties);
    caps.pci = format("{:04x}:{:02x}:{:02x}.{:x}", pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction);
}

/// Xe cores of Intel's cards, whose driver does not say how many they have; 0 for others. From Intel's specifications,
/// by the device ids of Mesa's include/pci_ids/iris_pci_ids.h.
std::uint32_t intel_cores(std::uint32_t vendor, std::uint32_t device) {
    constexpr std::uint32_t intel = 0x8086;
    static constexpr std::pair<std::uint32_t, std::uint32_t> cores[] = {
        {0x56A0, 32}, {0x56A1, 28}, {0x56A2, 24}, {0x56A5, 8},  {0x56A6, 6},  {0x5690, 32}, {0x5691, 24},
        {0x5692, 16}, {0x5693, 8},  {0x5694, 6},  {0x5696, 16}, {0x5697, 12}, {0x56C0, 32}, {0x56C1, 8},
        {0xE20B, 20}, {0xE20C, 18}, {0xE211, 20}, {0xE212, 16}, {0x64A0, 8}};
    const auto* const found = std::ranges::find(cores, device, &std::pair<std::uint32_t, std::uint32_t>::first);
    return vendor == intel && found != std::end(cores) ? found->second : 0;
}

void read_processors(VkPhysicalDevice physical, const DeviceFeatures& features, Caps& caps) {
    caps.processors = intel_cores(caps.vendor_id, caps.device_id);
    auto nvidia = vk_struct<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
    auto amd = vk_struct<VkPhysicalDeviceShaderCoreProperties2AMD>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD);
    auto arm = vk_struct<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    if (features.supports(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
        gpu::chain(properties, nvidia);
    else if (features.supports(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME))
        gpu::chain(properties, amd);
    else if (features.supports(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME))
        gpu::chain(properties, arm);
    else
        return;
    vkGetPhysicalDeviceProperties2(physical, &properties);
    caps.processors = nvidia.shaderSMCount + amd.activeComputeUnitCount + arm.shaderCoreCount;
}

void read_memory(VkPhysicalDevice physical, Caps& caps) {
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    std::uint64_t local = 0, all = 0;
    std::uint32_t largest = 0;  // the largest device-local heap
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const VkMemoryHeap& heap = memory.memoryHeaps[i];
        all += heap.size;
        if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
        const bool first = local == 0;
        local += heap.size;
        if (first || heap.size > memory.memoryHeaps[largest].size) largest = i;
    }
    const bool one_memory = caps.type == DeviceType::integrated || caps.type == DeviceType::cpu;
    // Some integrated GPUs report only a small carve-out as device-local, although they use all of the memory.
    caps.device_memory = one_memory ? std::max(local, all) : local;
    for (std::uint32_t i = 0; one_memory && i < memory.memoryTypeCount; ++i) {
        const VkMemoryType& type = memory.memoryTypes[i];
        const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        if ((type.propertyFlags & wanted) == wanted && type.heapIndex == largest) caps.unified_memory = true;
    }
}

void read_queues(VkPhysicalDevice physical, Caps& caps) {
    caps.compute_queue = false;
    for (const VkQueueFamilyProperties& family : gpu::queue_families(physical)) {
        if ((family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
        caps.compute_queue = true;
        caps.timestamps = caps.timestamps || family.timestampValidBits != 0;
    }
}

const char* word_for(VkComponentTypeKHR type) {
    switch (static_cast<int>(type)) {
        case VK_COMPONENT_TYPE_FLOAT16_KHR: return "f16";
        case VK_COMPONENT_TYPE_FLOAT32_KHR: return "f32";
        case VK_COMPONENT_TYPE_SINT8_KHR: return "s8";
        case VK_COMPONENT_TYPE_UINT8_KHR: return "u8";
        case VK_COMPONENT_TYPE_SINT32_KHR: return "s32";
        case VK_COMPONENT_TYPE_UINT32_KHR: return "u32";
        // newer than the required headers: VK_COMPONENT_TYPE_BFLOAT16_KHR, _FLOAT8_E4M3_EXT, _FLOAT8_E5M2_EXT
        case 1000141000: return "bf16";
        case 1000491002: return "e4m3";
        case 1000491003: return "e5m2";
        default: return "";
    }
}

void read_matrices(VkPhysicalDevice physical, Caps& caps) {
    // AMD's proprietary driver for integrated GPUs crashes in this call (llama.cpp, pull request 22750).
    if (caps.driver_id == VK_DRIVER_ID_AMD_PROPRIETARY && caps.type == DeviceType::integrated) return;
    if (vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr) return;
    using Properties = VkCooperativeMatrixPropertiesKHR;
    const auto list = [&](std::uint32_t* count, Properties* all) {
        VK_CHECK(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, count, all));
    };
    const auto blank = vk_struct<Properties>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
    for (const Properties& p : gpu::listed(list, blank)) {
        CooperativeMatrix matrix{p.MSize, p.NSize, p.KSize, word_for(p.AType), word_for(p.BType), word_for(p.CType)};
        const bool known = !matrix.a.empty() && !matrix.b.empty() && !matrix.c.empty();
        if (p.scope == VK_SCOPE_SUBGROUP_KHR && p.saturatingAccumulation == VK_FALSE && p.CType == p.ResultType &&
            known) {
            caps.cooperative_matrices.push_back(std::move(matrix));
        }
    }
}

/// The structure of the given type in a chain that DeviceFeatures made. Null when there is none.
template <class Struct>
const Struct* find_in_chain(const void* chain, VkStructureType type) {
    for (auto link = static_cast<const VkBaseInStructure*>(chain); link != nullptr; link = link->pNext)
        if (link->sType == type) return reinterpret_cast<const Struct*>(link);
    return nullptr;
}

void read_features(DeviceFeatures& features, Caps& caps) {
    const auto* core =
        find_in_chain<VkPhysicalDeviceFeatures2>(features.chain(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const auto* v11 = find_in_chain<VkPhysicalDeviceVulkan11Features>(
        features.chain(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    const auto* v12 = find_in_chain<VkPhysicalDeviceVulkan12Features>(
        features.chain(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const auto* v13 = find_in_chain<VkPhysicalDeviceVulkan13Features>(
        features.chain(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    caps.int16 = core->features.shaderInt16;
    caps.int64 = core->features.shaderInt64;
    caps.storage16 = v11->storageBuffer16BitAccess;
    caps.buffer_device_address = v12->bufferDeviceAddress;
    caps.timeline_semaphore = v12->timelineSemaphore;
    caps.fp16 = v12->shaderFloat16;
    caps.int8 = v12->shaderInt8;
    caps.storage8 = v12->storageBuffer8BitAccess;
    caps.synchronization2 = v13->synchronization2;
    caps.subgroup_size_control = caps.subgroup_size_control && v13->subgroupSizeControl;
    caps.integer_dot = v13->shaderIntegerDotProduct;
    caps.integer_dot_accelerated = caps.integer_dot_accelerated && caps.integer_dot;
    caps.memory_budget = features.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
}

}  // namespace

Caps read_caps(VkPhysicalDevice physical) {
    gpu::load_functions();
    VkPhysicalDeviceProperties core{};
    vkGetPhysicalDeviceProperties(physical, &core);
    Caps caps;
    read_identity(physical, core, caps);
    read_limits(physical, core, caps);
    read_memory(physical, caps);
    read_queues(physical, caps);
    if (core.apiVersion < VK_API_VERSION_1_3) return caps;
    DeviceFeatures features(physical);
    read_features(features, caps);
    if (features.has_extension(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) read_pci(physical, caps);
    if (features.has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) read_matrices(physical, caps);
    read_processors(physical, features, caps);
    caps.cooperative_matrix2 = features.has_extension(gpu::matrix2_extension);
    caps.float_dot = features.has_extension(gpu::float_dot_extension);
    return caps;
}

}  // namespace vantage
