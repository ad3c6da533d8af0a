// A picture without a window: an image on the device whose pixels come back to the host.
#pragma once

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/io/image.h"
#include "vantage/device.h"
#include "viewer/draw/frame.h"
#include "viewer/draw/painter.h"

VK_DEFINE_HANDLE(VmaAllocation)

namespace vantage::view {

/// Red, green, blue, alpha bytes, never converted.
inline constexpr VkFormat picture_format = VK_FORMAT_R8G8B8A8_UNORM;

/// Makes `image` ready for another use within a picture's commands.
void change_layout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to);
VkImageView make_view(VkDevice device, VkImage image, VkFormat format);
/// Copies an image in TRANSFER_SRC layout into a host-visible buffer, 4 bytes a pixel.
void copy_to_buffer(VkCommandBuffer commands, VkImage image, std::uint32_t width, std::uint32_t height,
                    const gpu::Buffer& to);
/// The bytes of such a buffer as a picture; `bgra`: blue comes first.
Image image_of(const gpu::Buffer& pixels, std::uint32_t width, std::uint32_t height, bool bgra);

class Picture : NotCopied {
public:
    Picture(const Device& device, std::uint32_t width, std::uint32_t height);
    ~Picture();

    Target target() const { return {view_, width_, height_}; }
    /// Before and after `paint`; after the frame is done, `image` has the pixels.
    void begin(Frame& frame);
    void end(Frame& frame);
    Image image() const { return image_of(pixels_, width_, height_, false); }

private:
    Device device_;
    std::uint32_t width_, height_;
    VkImage image_ = VK_NULL_HANDLE;
    VmaAllocation allocation_ = VK_NULL_HANDLE;
    VkImageView view_ = VK_NULL_HANDLE;
    gpu::Buffer pixels_;
};

}  // namespace vantage::view
