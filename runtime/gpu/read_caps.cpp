// Caps from a driver, and the features that a device is made with: what is reported is what is enabled.
#include <algorithm>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/gpu/instance.h"
#include "runtime/gpu/vk.h"
#include "vantage/vulkan.h"

namespace vantage {
namespace {

using gpu::vk_struct;

// Driver ids: caps.driver_id holds numbers, so that caps need no Vulkan header.
static_assert(VK_DRIVER_ID_MESA_LLVMPIPE == 13 && VK_DRIVER_ID_MOLTENVK == 14);

std::vector<std::string> extensions_of(VkPhysicalDevice physical) {
    std::uint32_t count = 0;
    VK_CHECK(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr));
    std::vector<VkExtensionProperties> found(count);
    VK_CHECK(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, found.data()));
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(found[i].extensionName);
    return names;
}

bool contains(const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

DeviceType type_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceType::discrete;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceType::integrated;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceType::virtual_gpu;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceType::cpu;
        default: return DeviceType::other;
    }
}

/// Vendors pack their version numbers each in their own way.
std::string version_text(std::uint32_t driver_id, std::uint32_t version) {
    if (driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY) {
        return format("%u.%u.%u.%u", version >> 22, (version >> 14) & 0xff, (version >> 6) & 0xff, version & 0x3f);
    }
    return format("%u.%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                  VK_API_VERSION_PATCH(version));
}

void read_identity(VkPhysicalDevice physical, const VkPhysicalDeviceProperties& core, Caps& caps) {
    caps.name = core.deviceName;
    caps.vendor_id = core.vendorID;
    caps.device_id = core.deviceID;
    caps.api_version = core.apiVersion;
    caps.type = type_of(core.deviceType);
    caps.driver_version = version_text(0, core.driverVersion);
    if (core.apiVersion < VK_API_VERSION_1_2) return;  // will be refused; its name and version is all there is to say
    auto driver = vk_struct<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    auto ids = vk_struct<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    properties.pNext = &driver;
    driver.pNext = &ids;
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
    properties.pNext = &subgroup;
    subgroup.pNext = &sizes;
    sizes.pNext = &memory;
    memory.pNext = &buffers;
    buffers.pNext = &dot;
    vkGetPhysicalDeviceProperties2(physical, &properties);
    caps.subgroup_size = std::max(1u, subgroup.subgroupSize);
    const bool in_compute = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    const auto supports = [&](VkSubgroupFeatureFlags bits) {
        return in_compute && (subgroup.supportedOperations & bits) == bits;
    };
    caps.subgroup_arithmetic = supports(VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    caps.subgroup_shuffle = supports(VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    caps.min_subgroup_size = sizes.minSubgroupSize != 0 ? sizes.minSubgroupSize : caps.subgroup_size;
    caps.max_subgroup_size = sizes.maxSubgroupSize != 0 ? sizes.maxSubgroupSize : caps.subgroup_size;
    caps.subgroup_size_control = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    caps.max_allocation = memory.maxMemoryAllocationSize;
    caps.max_buffer = buffers.maxBufferSize;
    caps.integer_dot_accelerated = dot.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;
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
    // Some integrated GPUs call only a small carve-out their own, though they run from all of it.
    caps.device_memory = one_memory ? std::max(local, all) : local;
    for (std::uint32_t i = 0; one_memory && i < memory.memoryTypeCount; ++i) {
        const VkMemoryType& type = memory.memoryTypes[i];
        const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        if ((type.propertyFlags & wanted) == wanted && type.heapIndex == largest) caps.unified_memory = true;
    }
}

void read_queues(VkPhysicalDevice physical, Caps& caps) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    caps.compute_queue = false;
    for (const VkQueueFamilyProperties& family : families) {
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
        case 1000141000: return "bf16";  // VK_COMPONENT_TYPE_BFLOAT16_KHR, newer than the headers we ask for
        default: return "";
    }
}

void read_matrices(VkPhysicalDevice physical, Caps& caps) {
    // AMD's own driver for integrated GPUs crashes on this question (llama.cpp, pull request 22750).
    if (caps.driver_id == VK_DRIVER_ID_AMD_PROPRIETARY && caps.type == DeviceType::integrated) return;
    if (vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr) return;
    std::uint32_t count = 0;
    VK_CHECK(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, &count, nullptr));
    std::vector<VkCooperativeMatrixPropertiesKHR> found(
        count, vk_struct<VkCooperativeMatrixPropertiesKHR>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR));
    VK_CHECK(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, &count, found.data()));
    for (const VkCooperativeMatrixPropertiesKHR& p : found) {
        CooperativeMatrix matrix{p.MSize, p.NSize, p.KSize, word_for(p.AType), word_for(p.BType), word_for(p.CType)};
        const bool known = !matrix.a.empty() && !matrix.b.empty() && !matrix.c.empty();
        if (p.scope == VK_SCOPE_SUBGROUP_KHR && p.saturatingAccumulation == VK_FALSE && p.CType == p.ResultType &&
            known) {
            caps.cooperative_matrices.push_back(std::move(matrix));
        }
    }
}

/// The feature bits of a chain as DeviceFeatures makes it, found by walking it.
template <class Struct>
const Struct* find_in_chain(const void* chain, VkStructureType type) {
    for (auto at = static_cast<const VkBaseInStructure*>(chain); at != nullptr; at = at->pNext) {
        if (at->sType == type) return reinterpret_cast<const Struct*>(at);
    }
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

DeviceFeatures::DeviceFeatures(VkPhysicalDevice physical, bool windows) {
    gpu::load_functions();
    const std::vector<std::string> found = extensions_of(physical);
    if (windows && contains(found, VK_KHR_SWAPCHAIN_EXTENSION_NAME))
        extensions_.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    for (const char* name : {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                             VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, "VK_KHR_portability_subset"}) {
        if (contains(found, name)) extensions_.push_back(name);
    }
    auto core = vk_struct<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    auto v11 = vk_struct<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto v12 = vk_struct<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto v13 = vk_struct<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    auto matrices = vk_struct<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    MatrixFeatures2 matrices2;
    const bool ask_matrices = contains(found, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME),
               ask_matrices2 = ask_matrices && contains(found, gpu::matrix2_extension);
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.pNext = &v13;
    if (ask_matrices) v13.pNext = &matrices;
    if (ask_matrices2) matrices.pNext = &matrices2;
    vkGetPhysicalDeviceFeatures2(physical, &core);
    if (ask_matrices && matrices.cooperativeMatrix) extensions_.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    // Several features, of which a driver may have some: the kernels want these three together.
    const bool use_matrices2 =
        matrices.cooperativeMatrix && matrices2.reductions && matrices2.conversions && matrices2.single_elements;
    if (use_matrices2) extensions_.push_back(gpu::matrix2_extension);

    // Only what Vantage uses: a feature that is on may cost (robust access does).
    head_ = vk_struct<VkPhysicalDeviceFeatures2>(core.sType);
    head_.pNext = &vulkan11_;
    head_.features.shaderInt16 = core.features.shaderInt16;
    head_.features.shaderInt64 = core.features.shaderInt64;
    vulkan11_ = vk_struct<VkPhysicalDeviceVulkan11Features>(v11.sType);
    vulkan11_.pNext = &vulkan12_;
    vulkan11_.storageBuffer16BitAccess = v11.storageBuffer16BitAccess;
    vulkan12_ = vk_struct<VkPhysicalDeviceVulkan12Features>(v12.sType);
    vulkan12_.pNext = &vulkan13_;
    vulkan12_.bufferDeviceAddress = v12.bufferDeviceAddress;
    vulkan12_.timelineSemaphore = v12.timelineSemaphore;
    vulkan12_.scalarBlockLayout = v12.scalarBlockLayout;
    vulkan12_.shaderFloat16 = v12.shaderFloat16;
    vulkan12_.shaderInt8 = v12.shaderInt8;
    vulkan12_.storageBuffer8BitAccess = v12.storageBuffer8BitAccess;
    vulkan12_.shaderSubgroupExtendedTypes = v12.shaderSubgroupExtendedTypes;
    vulkan12_.vulkanMemoryModel = v12.vulkanMemoryModel;
    vulkan12_.vulkanMemoryModelDeviceScope = v12.vulkanMemoryModelDeviceScope;
    vulkan13_ = vk_struct<VkPhysicalDeviceVulkan13Features>(v13.sType);
    vulkan13_.pNext = ask_matrices && matrices.cooperativeMatrix ? &matrices_ : nullptr;
    vulkan13_.synchronization2 = v13.synchronization2;
    vulkan13_.dynamicRendering = v13.dynamicRendering;  // the viewer's; costs nothing that does not draw
    vulkan13_.subgroupSizeControl = v13.subgroupSizeControl;
    vulkan13_.computeFullSubgroups = v13.computeFullSubgroups;
    vulkan13_.maintenance4 = v13.maintenance4;  // workgroup sizes that are specialization constants
    vulkan13_.shaderIntegerDotProduct = v13.shaderIntegerDotProduct;
    matrices_ = vk_struct<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(matrices.sType);
    matrices_.cooperativeMatrix = matrices.cooperativeMatrix;
    matrices_.pNext = use_matrices2 ? &matrices2_ : nullptr;
    matrices2_.reductions = matrices2_.conversions = matrices2_.single_elements = VK_TRUE;
}

bool DeviceFeatures::has_extension(const char* name) const {
    return std::any_of(extensions_.begin(), extensions_.end(),
                       [&](const char* one) { return std::strcmp(one, name) == 0; });
}

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
    if (features.has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) read_matrices(physical, caps);
    caps.cooperative_matrix2 = features.has_extension(gpu::matrix2_extension);
    return caps;
}

}  // namespace vantage
