#include "viewer/draw/picture.h"

#include "runtime/gpu/queue.h"
#include "runtime/gpu/third_party_vma.h"

namespace vantage::view {

using gpu::vk_struct;

void change_layout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to) {
    auto barrier = vk_struct<VkImageMemoryBarrier2>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2);
    barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
    barrier.oldLayout = from;
    barrier.newLayout = to;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    auto info = vk_struct<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
    info.imageMemoryBarrierCount = 1;
    info.pImageMemoryBarriers = &barrier;
    vkCmdPipelineBarrier2(commands, &info);
}

VkImageView make_view(VkDevice device, VkImage image, VkFormat format) {
    auto info = vk_struct<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
    info.image = image;
    info.viewType = VK_IMAGE_VIEW_TYPE_2D;
    info.format = format;
    info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageView made = VK_NULL_HANDLE;
    VK_CHECK(vkCreateImageView(device, &info, nullptr, &made));
    return made;
}

void copy_to_buffer(VkCommandBuffer commands, VkImage image, std::uint32_t width, std::uint32_t height,
                    const gpu::Buffer& to) {
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {width, height, 1};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to.handle(), 1, &region);
    gpu::memory_barrier(commands, {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT}, gpu::read_by_host);
}

Image image_of(const gpu::Buffer& pixels, std::uint32_t width, std::uint32_t height, bool bgra) {
    Image image(static_cast<int>(width), static_cast<int>(height), {});
    const std::byte* from = pixels.mapped();
    for (std::size_t i = 0; i < std::size_t{width} * height; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            image.rgb[i * 3 + c] = static_cast<std::uint8_t>(from[i * 4 + (bgra ? 2 - c : c)]);
    return image;
}

Picture::Picture(const Device& device, std::uint32_t width, std::uint32_t height)
    : device_(device), width_(width), height_(height) {
    gpu::DeviceState& state = device_.state();
    auto info = vk_struct<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = picture_format;
    info.extent = {width, height, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VmaAllocationCreateInfo where{};
    where.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    VK_CHECK_AS(allocate, vmaCreateImage(state.memory.allocator, &info, &where, &image_, &allocation_, nullptr));
    view_ = make_view(state.device, image_, picture_format);
    state.set_name(VK_OBJECT_TYPE_IMAGE, image_, "picture");
    pixels_ = gpu::allocate(state, std::uint64_t{width} * height * 4, gpu::MemoryKind::readback, "pixels");
}

Picture::~Picture() {
    if (!gpu::wait_idle(device_.state())) return;  // it is still drawn into
    vkDestroyImageView(device_.state().device, view_, nullptr);
    vmaDestroyImage(device_.state().memory.allocator, image_, allocation_);
}

void Picture::begin(Frame& frame) {
    change_layout(frame.commands(), image_, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
}

void Picture::end(Frame& frame) {
    change_layout(frame.commands(), image_, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    copy_to_buffer(frame.commands(), image_, width_, height_, pixels_);
}

}  // namespace vantage::view
