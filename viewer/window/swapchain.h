// The swapchain of a window.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/gpu/device_state.h"
#include "vantage/device.h"
#include "viewer/draw/painter.h"

namespace vantage::view {

class Swapchain : NotCopied {
public:
    /// Takes over `surface`. Throws unsupported when the device's queue cannot show pictures on it.
    Swapchain(const Device& device, VkSurfaceKHR surface);
    ~Swapchain();

    /// Creates images of this size. Call it when the window or its surface has changed.
    void resize(std::uint32_t width, std::uint32_t height);
    bool empty() const { return swapchain_ == VK_NULL_HANDLE; }
    VkFormat format() const { return format_; }

    struct Acquired {
        std::uint32_t index = 0;
        VkImage image = VK_NULL_HANDLE;
        Target target;
        VkSemaphore free = VK_NULL_HANDLE;   ///< to wait for before drawing
        VkSemaphore drawn = VK_NULL_HANDLE;  ///< to signal when drawn
    };
    /// The next image; nothing if the surface has changed: call `resize`.
    std::optional<Acquired> acquire();
    /// Presents an image; false if the surface has changed: call `resize`.
    bool present(const Acquired& image);
    /// Whether the surface allows to copy pixels from the images.
    bool readable() const { return readable_; }

private:
    void choose_format();
    void destroy_images();

    Device device_;
    VkSurfaceKHR surface_;
    VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
    VkFormat format_ = VK_FORMAT_UNDEFINED;
    VkColorSpaceKHR colours_ = VK_COLOR_SPACE_SRGB_NONLINEAR_KHR;
    std::uint32_t width_ = 0, height_ = 0;
    struct ShownImage {
        VkImage image = VK_NULL_HANDLE;
        VkImageView view = VK_NULL_HANDLE;
        VkSemaphore drawn = VK_NULL_HANDLE;
    };
    std::vector<ShownImage> images_;
    std::vector<VkSemaphore> free_;  ///< one more than pictures in flight, in rotation
    std::size_t next_free_ = 0;
    bool readable_ = false;
};

}  // namespace vantage::view
