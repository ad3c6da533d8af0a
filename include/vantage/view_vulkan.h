// Opt-in: draws a Session's attention into a program's own frame. The program owns the window, the swapchain and the
// Vulkan device (vantage/vulkan.h: DeviceFeatures, adopt). It submits the frame to the queue that it gave to Vantage.
// Needs the Vulkan headers.
//
//     vantage::Device device = vantage::adopt({instance, physical, vulkan_device, queue, family}, extensions);
//     …                                                      // Model, Session, AttentionFeed as in vantage/view.h
//     vantage::ViewPainter painter(feed, swapchain_format);
//     for each frame, between acquiring the image and submitting the commands under vantage::lock_queue(device):
//         painter.record(commands, image_view, {width, height});
//
// Threads: one at a time for a painter, the one that submits its commands.
// Errors: as said below. A painter whose record() threw can only be destroyed.
#pragma once

#include <vulkan/vulkan.h>

#include "vantage/view.h"

namespace vantage {

/// Draws one feed into images of the program.
///
/// Threads: one at a time.
class ViewPainter {
public:
    /// `target` is the format of the images. Colours are written as sRGB bytes: use a UNORM format such as
    /// VK_FORMAT_B8G8R8A8_UNORM. The feed lives longer. Throws unsupported when the device's queue does not draw.
    ViewPainter(AttentionFeed& feed, VkFormat target, const ViewOptions& options = {});
    /// All recorded commands must have been submitted.
    ~ViewPainter();
    ViewPainter(const ViewPainter&) = delete;
    ViewPainter& operator=(const ViewPainter&) = delete;

    /// Whether the next picture would differ from the last, and `record` would not wait.
    bool due() const;
    /// Records the picture, outside of a render pass. The image is in VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL and
    /// stays in it. All of it is written, in the colour attachment stage. The previous picture must have been submitted
    /// to the queue of handles(device). Waits for the one before it, unless `due` returned true. Throws as Plan::run.
    void record(VkCommandBuffer commands, VkImageView image, VkExtent2D size);

    // ---- input, with the arguments of GLFW's callbacks; the mouse in pixels of the image
    void mouse_at(double x, double y);
    void mouse_button(int button, int action);
    void scrolled(double x, double y);
    void key(int key, int scancode, int action, int modifiers);
    void character(unsigned codepoint);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage
