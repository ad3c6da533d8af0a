// The Vulkan loader and the VkInstance, which all devices share.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

class Instance : NotCopied {
public:
    /// The existing instance if it has these `extensions` (of a window system), else a new one. Throws `no_device` when
    /// there is no Vulkan loader or no driver, and `unsupported` when the loader lacks an extension.
    static std::shared_ptr<Instance> get(std::span<const char* const> extensions = {});
    ~Instance();

    VkInstance handle() const { return handle_; }
    bool debug_utils() const { return debug_utils_; }
    std::vector<VkPhysicalDevice> physical_devices() const;

private:
    explicit Instance(std::span<const char* const> extensions);
    bool has(std::span<const char* const> extensions) const;
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    bool debug_utils_ = false;
    std::vector<std::string> extensions_;  ///< those of the window system
};

/// Opens the loader, once. Throws `no_device` when there is none.
void load_vulkan();
/// Loads all functions, for programs that bring their own instance.
void load_functions();
/// Errors that the validation layer has reported since the process started.
int validation_error_count();

}  // namespace vantage::gpu
