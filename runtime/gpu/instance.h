// The Vulkan instance: made with the first device, shared by all, gone with the last.
#pragma once

#include <memory>
#include <vector>

#include "runtime/gpu/vk.h"

namespace vantage::gpu {

class Instance {
public:
    /// The living instance, or a new one. Throws `no_device` when there is no Vulkan loader or no driver at all.
    static std::shared_ptr<Instance> get();
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const { return handle_; }
    bool debug_utils() const { return debug_utils_; }
    std::vector<VkPhysicalDevice> physical_devices() const;

private:
    Instance();
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    bool debug_utils_ = false;
};

/// Opens the loader, once. Throws `no_device` when there is none.
void load_vulkan();
/// Errors that the validation layer reported since the process began.
int validation_error_count();

}  // namespace vantage::gpu
