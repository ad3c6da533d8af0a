// Implements vantage/view_vulkan.h.
#include "runtime/gpu/vulkan_calls.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "runtime/base/clock.h"
#include "vantage/view_vulkan.h"
#include "viewer/draw/frame.h"
#include "viewer/panels/viewer.h"
#include "viewer/window/keys.h"

namespace vantage {

struct ViewPainter::State {
    State(view::LiveModel& live, VkFormat target, const ViewOptions& options)
        : pipelines(live.model().device(), target),
          frames(live.model().device()),
          viewer(live, {},
                 {.scale = options.scale, .budget_percent = options.budget_percent, .keys = view::own_keys()}) {}
    view::DrawPipelines pipelines;
    view::FrameRing frames;
    view::Viewer viewer;
};

ViewPainter::ViewPainter(AttentionFeed& feed, VkFormat target, const ViewOptions& options)
    : state_(std::make_unique<State>(feed.live(), target, options)) {}
ViewPainter::~ViewPainter() = default;

bool ViewPainter::due() const { return state_->viewer.due(seconds_now()) && state_->frames.ready(); }

void ViewPainter::record(VkCommandBuffer commands, VkImageView image, VkExtent2D size) {
    State& s = *state_;
    const double begin = seconds_now();
    view::Frame& frame = s.frames.begin(commands);
    s.viewer.draw(frame, s.pipelines, {image, size.width, size.height}, begin);
    s.frames.end(frame);
    s.viewer.note_frame(seconds_now(), 0, seconds_now() - begin);
}

void ViewPainter::mouse_at(double x, double y) {
    state_->viewer.mouse_at(static_cast<float>(x), static_cast<float>(y));
}
void ViewPainter::mouse_button(int button, int action) { state_->viewer.mouse_button(button, action == GLFW_PRESS); }
void ViewPainter::scrolled(double x, double y) {
    state_->viewer.scrolled(static_cast<float>(x), static_cast<float>(y));
}
void ViewPainter::key(int key, int scancode, int action, int modifiers) {
    view::send_key(state_->viewer, key, scancode, action, modifiers);
}
void ViewPainter::character(unsigned codepoint) { state_->viewer.character(codepoint); }

}  // namespace vantage
