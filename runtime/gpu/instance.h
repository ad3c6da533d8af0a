// The Vulkan instance: made with the first device, shared by all, gone with the last.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/vk.h"

namespace vantage::gpu {

class Instance {
public:
    /// The living instance, or a new one where there is none with these `extensions` (of a window system). Throws
    /// `no_device` when there is no Vulkan loader or no driver at all, and `unsupported` when the loader lacks an extension.
    static std::shared_ptr<Instance> get(std::span<const char* const> extensions = {});
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const { return handle_; }
    bool debug_utils() const { return debug_utils_; }
    std::vector<VkPhysicalDevice> physical_devices() const;

private:
    explicit Instance(std::span<const char* const> extensions);
    bool has(std::span<const char* const> extensions) const;
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    bool debug_utils_ = false;
    std::vector<std::string> extensions_;  ///< enabled because somebody asked for them
};

/// Opens the loader, once. Throws `no_device` when there is none.
void load_vulkan();
/// Makes sure that functions can be called with handles of whichever instance, for programs that bring their own.
void load_functions();
/// Errors that the validation layer reported since the process began.
int validation_error_count();

}  // namespace vantage::gpu
