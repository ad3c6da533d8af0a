// The features and extensions that devices are created with. Implements a part of vantage/vulkan.h.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/instance.h"
#include "vantage/vulkan.h"

namespace vantage {
namespace {

using gpu::vk_struct;

std::vector<std::string> extensions_of(VkPhysicalDevice physical) {
    std::vector<std::string> names;
    const auto list = [&](std::uint32_t* count, VkExtensionProperties* all) {
        VK_CHECK(vkEnumerateDeviceExtensionProperties(physical, nullptr, count, all));
    };
    for (const VkExtensionProperties& found : gpu::listed<VkExtensionProperties>(list))
        names.emplace_back(found.extensionName);
    return names;
}

}  // namespace

DeviceFeatures::DeviceFeatures(VkPhysicalDevice physical, bool windows) {
    gpu::load_functions();
    supported_ = extensions_of(physical);
    const auto has = [&](const char* name) { return supports(name); };
    if (windows && has(VK_KHR_SWAPCHAIN_EXTENSION_NAME)) extensions_.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    for (const char* name : {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                             VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, "VK_KHR_portability_subset",
                             VK_EXT_PCI_BUS_INFO_EXTENSION_NAME}) {
        if (has(name)) extensions_.push_back(name);
    }
    auto core = vk_struct<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    auto v11 = vk_struct<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto v12 = vk_struct<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto v13 = vk_struct<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    auto matrices = vk_struct<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    MatrixFeatures2 matrices2;
    const bool ask_matrices = has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME),
               ask_matrices2 = ask_matrices && has(gpu::matrix2_extension);
    gpu::chain(core, v11, v12, v13);
    FloatDotFeatures float_dot;
    if (has(gpu::float_dot_extension)) float_dot.pNext = std::exchange(core.pNext, &float_dot);
    if (ask_matrices) v13.pNext = &matrices;
    if (ask_matrices2) matrices.pNext = &matrices2;
    vkGetPhysicalDeviceFeatures2(physical, &core);
    if (matrices.cooperativeMatrix) extensions_.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    // A driver may support only some features of the extension. The kernels need these three.
    const bool use_matrices2 =
        matrices.cooperativeMatrix && matrices2.reductions && matrices2.conversions && matrices2.single_elements;
    if (use_matrices2) extensions_.push_back(gpu::matrix2_extension);
    if (float_dot.halves_to_float) extensions_.push_back(gpu::float_dot_extension);

    // Only what Vantage uses: an enabled feature can cost time (robust buffer access does).
    head_ = vk_struct<VkPhysicalDeviceFeatures2>(core.sType);
    head_.features.shaderInt16 = core.features.shaderInt16;
    head_.features.shaderInt64 = core.features.shaderInt64;
    vulkan11_ = vk_struct<VkPhysicalDeviceVulkan11Features>(v11.sType);
    vulkan11_.storageBuffer16BitAccess = v11.storageBuffer16BitAccess;
    vulkan12_ = vk_struct<VkPhysicalDeviceVulkan12Features>(v12.sType);
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
    vulkan13_.synchronization2 = v13.synchronization2;
    vulkan13_.dynamicRendering = v13.dynamicRendering;  // for the viewer; free for everything else
    vulkan13_.subgroupSizeControl = v13.subgroupSizeControl;
    vulkan13_.computeFullSubgroups = v13.computeFullSubgroups;
    vulkan13_.maintenance4 = v13.maintenance4;  // allows workgroup sizes that are specialization constants
    vulkan13_.shaderIntegerDotProduct = v13.shaderIntegerDotProduct;
    matrices_ = vk_struct<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(matrices.sType);
    matrices_.cooperativeMatrix = matrices.cooperativeMatrix;
    matrices2_.reductions = matrices2_.conversions = matrices2_.single_elements = VK_TRUE;
    gpu::chain(head_, vulkan11_, vulkan12_, vulkan13_);
    float_dot_.halves_to_float = VK_TRUE;
    if (float_dot.halves_to_float) float_dot_.pNext = std::exchange(head_.pNext, &float_dot_);
    if (matrices.cooperativeMatrix) vulkan13_.pNext = &matrices_;
    if (use_matrices2) matrices_.pNext = &matrices2_;
}

bool DeviceFeatures::supports(const char* name) const { return std::ranges::count(supported_, name) > 0; }

bool DeviceFeatures::has_extension(const char* name) const {
    return std::ranges::any_of(extensions_, [&](const char* one) { return std::strcmp(one, name) == 0; });
}

}  // namespace vantage
