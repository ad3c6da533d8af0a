#include "viewer/window/swapchain.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "vantage/vulkan.h"
#include "viewer/draw/picture.h"

namespace vantage::view {
namespace {

using gpu::vk_struct;

constexpr std::size_t pictures_in_flight = 2;

VkSemaphore make_semaphore(VkDevice device) {
    const auto info = vk_struct<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    VkSemaphore made = VK_NULL_HANDLE;
    VK_CHECK(vkCreateSemaphore(device, &info, nullptr, &made));
    return made;
}

}  // namespace

Swapchain::Swapchain(const Device& device, VkSurfaceKHR surface) : device_(device), surface_(surface) {
    const gpu::DeviceParts& parts = device_.state().parts;
    VkBool32 shows = VK_FALSE;
    VK_CHECK(vkGetPhysicalDeviceSurfaceSupportKHR(parts.physical, parts.queue_family, surface_, &shows));
    if (shows == VK_FALSE) {
        vkDestroySurfaceKHR(parts.instance, surface_, nullptr);
        throw unsupported_error(
            "{} cannot show pictures in this window: use another --device, or --headless --png FILE",
            device_.caps().name);
    }
    choose_format();
    for (std::size_t i = 0; i < pictures_in_flight + 1; ++i) free_.push_back(make_semaphore(device_.state().device));
}

Swapchain::~Swapchain() {
    const VkDevice device = device_.state().device;
    {
        // Presenting may still use these objects, and no semaphore signals its end.
        const auto lock = lock_queue(device_);
        vkQueueWaitIdle(device_.state().parts.queue);
    }
    destroy_images();
    for (const VkSemaphore semaphore : free_) vkDestroySemaphore(device, semaphore, nullptr);
    vkDestroySwapchainKHR(device, swapchain_, nullptr);
    vkDestroySurfaceKHR(device_.state().parts.instance, surface_, nullptr);
}

/// A format that does not convert bytes.
void Swapchain::choose_format() {
    const VkPhysicalDevice physical = device_.state().parts.physical;
    const auto found = gpu::listed<VkSurfaceFormatKHR>([&](std::uint32_t* count, VkSurfaceFormatKHR* formats) {
        VK_CHECK(vkGetPhysicalDeviceSurfaceFormatsKHR(physical, surface_, count, formats));
    });
    for (const VkFormat wanted :
         {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A2B10G10R10_UNORM_PACK32}) {
        for (const VkSurfaceFormatKHR& one : found) {
            if (one.format != wanted) continue;
            format_ = one.format;
            colours_ = one.colorSpace;
            return;
        }
    }
    throw unsupported_error("the window has no format of plain bytes (UNORM)");
}

void Swapchain::resize(std::uint32_t width, std::uint32_t height) {
    const gpu::DeviceState& state = device_.state();
    const auto lock = lock_queue(device_);
    VK_CHECK(vkQueueWaitIdle(state.parts.queue));
    VkSurfaceCapabilitiesKHR can{};
    VK_CHECK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(state.parts.physical, surface_, &can));
    const bool fixed = can.currentExtent.width != UINT32_MAX;
    width_ = fixed ? can.currentExtent.width : std::clamp(width, can.minImageExtent.width, can.maxImageExtent.width);
    height_ =
        fixed ? can.currentExtent.height : std::clamp(height, can.minImageExtent.height, can.maxImageExtent.height);
    destroy_images();
    const VkSwapchainKHR old = swapchain_;
    swapchain_ = VK_NULL_HANDLE;
    if (width_ == 0 || height_ == 0) return vkDestroySwapchainKHR(state.device, old, nullptr);  // minimised
    readable_ = (can.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) != 0;
    auto info = vk_struct<VkSwapchainCreateInfoKHR>(VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR);
    info.surface = surface_;
    info.minImageCount =
        can.maxImageCount == 0 ? can.minImageCount + 1 : std::min(can.minImageCount + 1, can.maxImageCount);
    info.imageFormat = format_;
    info.imageColorSpace = colours_;
    info.imageExtent = {width_, height_};
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (readable_) info.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    info.preTransform = can.currentTransform;
    info.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    info.oldSwapchain = old;
    const VkResult result = VK_RESULT_AS(any, vkCreateSwapchainKHR(state.device, &info, nullptr, &swapchain_));
    vkDestroySwapchainKHR(state.device, old, nullptr);
    if (gpu::failed(result)) gpu::throw_vk(result, "vkCreateSwapchainKHR", SourceLocation::here());
    const auto list = [&](std::uint32_t* count, VkImage* images) {
        VK_CHECK(vkGetSwapchainImagesKHR(state.device, swapchain_, count, images));
    };
    for (const VkImage image : gpu::listed<VkImage>(list))
        images_.push_back({image, make_view(state.device, image, format_), make_semaphore(state.device)});
}

void Swapchain::destroy_images() {
    const VkDevice device = device_.state().device;
    for (const ShownImage& shown : images_) {
        vkDestroyImageView(device, shown.view, nullptr);
        vkDestroySemaphore(device, shown.drawn, nullptr);
    }
    images_.clear();
}

std::optional<Swapchain::Acquired> Swapchain::acquire() {
    constexpr std::uint64_t patience = 2'000'000'000;  // nanoseconds; some compositors give no image to a hidden window
    if (empty()) return std::nullopt;
    const VkSemaphore free = free_[next_free_];
    std::uint32_t index = 0;
    const VkResult result = VK_RESULT_AS(
        any, vkAcquireNextImageKHR(device_.state().device, swapchain_, patience, free, VK_NULL_HANDLE, &index));
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_NOT_READY || result == VK_TIMEOUT) return std::nullopt;
    device_.state().lose_if_lost(result, "vkAcquireNextImageKHR");
    if (gpu::failed(result)) gpu::throw_vk(result, "vkAcquireNextImageKHR", SourceLocation::here());
    next_free_ = (next_free_ + 1) % free_.size();
    const ShownImage& shown = images_.at(index);
    return Acquired{index, shown.image, {shown.view, width_, height_}, free, shown.drawn};
}

bool Swapchain::present(const Acquired& image) {
    auto info = vk_struct<VkPresentInfoKHR>(VK_STRUCTURE_TYPE_PRESENT_INFO_KHR);
    info.waitSemaphoreCount = 1;
    info.pWaitSemaphores = &image.drawn;
    info.swapchainCount = 1;
    info.pSwapchains = &swapchain_;
    info.pImageIndices = &image.index;
    const auto lock = lock_queue(device_);
    const VkResult result = VK_RESULT_AS(any, vkQueuePresentKHR(device_.state().parts.queue, &info));
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) return false;
    device_.state().lose_if_lost(result, "vkQueuePresentKHR");
    if (gpu::failed(result)) gpu::throw_vk(result, "vkQueuePresentKHR", SourceLocation::here());
    return true;
}

}  // namespace vantage::view
