#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {
namespace {

ErrorKind kind_of(VkResult result) {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_FRAGMENTATION:
        case VK_ERROR_TOO_MANY_OBJECTS: return ErrorKind::out_of_memory;
        case VK_ERROR_DEVICE_LOST:
        case VK_TIMEOUT: return ErrorKind::device_lost;
        default: return ErrorKind::failure;
    }
}

const char* meaning_of(VkResult result) {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY: return "the driver is out of host memory; close other programs";
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
            return "the device is out of memory; use a smaller model or context, or close other programs";
        case VK_ERROR_DEVICE_LOST: return "the device stopped responding; the system log may give the reason";
        case VK_TIMEOUT: return "the device did not finish in time; VANTAGE_TIMEOUT sets the limit in seconds";
        default: return "";
    }
}

}  // namespace

const char* name_of(VkResult result) {
    switch (result) {
#define VANTAGE_RESULT(name) \
    case name: return #name
        VANTAGE_RESULT(VK_SUCCESS);
        VANTAGE_RESULT(VK_NOT_READY);
        VANTAGE_RESULT(VK_TIMEOUT);
        VANTAGE_RESULT(VK_INCOMPLETE);
        VANTAGE_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY);
        VANTAGE_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        VANTAGE_RESULT(VK_ERROR_INITIALIZATION_FAILED);
        VANTAGE_RESULT(VK_ERROR_DEVICE_LOST);
        VANTAGE_RESULT(VK_ERROR_MEMORY_MAP_FAILED);
        VANTAGE_RESULT(VK_ERROR_LAYER_NOT_PRESENT);
        VANTAGE_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT);
        VANTAGE_RESULT(VK_ERROR_FEATURE_NOT_PRESENT);
        VANTAGE_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER);
        VANTAGE_RESULT(VK_ERROR_TOO_MANY_OBJECTS);
        VANTAGE_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY);
        VANTAGE_RESULT(VK_ERROR_FRAGMENTATION);
        VANTAGE_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE);
        VANTAGE_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        VANTAGE_RESULT(VK_ERROR_INVALID_SHADER_NV);
        VANTAGE_RESULT(VK_ERROR_UNKNOWN);
#undef VANTAGE_RESULT
        default: return "an unknown VkResult";
    }
}

std::vector<VkQueueFamilyProperties> queue_families(VkPhysicalDevice physical) {
    return listed<VkQueueFamilyProperties>([&](std::uint32_t* count, VkQueueFamilyProperties* families) {
        vkGetPhysicalDeviceQueueFamilyProperties(physical, count, families);
    });
}

std::string result_text(VkResult result, const char* call) {
    const std::string text(call);  // the function's name is what helps a reader
    const std::string meaning = meaning_of(result);
    return text.substr(0, text.find('(')) + ": " + name_of(result) + (meaning.empty() ? "" : " (" + meaning + ")");
}

void throw_vk(VkResult result, const char* call, SourceLocation where, const std::string& what) {
    throw Error(kind_of(result), (what.empty() ? "" : what + ": ") + result_text(result, call), where);
}

}  // namespace vantage::gpu
