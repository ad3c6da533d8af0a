// Draws one picture: panels, and between them the viewer's own maps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "viewer/draw/fonts.h"
#include "viewer/draw/frame.h"
#include "viewer/draw/pipelines.h"

namespace vantage::view {

/// Where a picture goes: an image that is ready to be a colour attachment.
struct Target {
    VkImageView view = VK_NULL_HANDLE;
    std::uint32_t width = 0, height = 0;
};

class Painter {
public:
    Painter(Frame& frame, DrawPipelines& pipelines, const Target& target)
        : frame_(frame), pipelines_(pipelines), target_(target) {}
    /// Triangles of one shading; `params` are its push constants.
    template <class Params>
    void draw(Shading shading, const Params& params, std::uint32_t vertices, std::uint32_t first = 0) {
        draw(shading, std::as_bytes(std::span(&params, 1)), vertices, first);
    }
    void clip(const ImVec4& rectangle);
    Frame& frame() { return frame_; }
    float width() const { return static_cast<float>(target_.width); }
    float height() const { return static_cast<float>(target_.height); }

private:
    void draw(Shading shading, std::span<const std::byte> params, std::uint32_t vertices, std::uint32_t first);
    Frame& frame_;
    DrawPipelines& pipelines_;
    Target target_;
    VkPipeline bound_ = VK_NULL_HANDLE;
};

/// What is drawn between the panels' triangles.
using Drawing = std::function<void(Painter&)>;
/// The drawings of one picture; they live until it is recorded.
class Drawings {
public:
    /// At this place in the current window; clipped as the window is there.
    void add(Drawing drawing);
    void clear() { all_.clear(); }

private:
    std::deque<Drawing> all_;
};

/// Records what ImGui::Render has left, over `background`.
void paint(Frame& frame, DrawPipelines& pipelines, const Target& target, const Fonts& fonts, const ImDrawData& data,
           const ImVec4& background);

}  // namespace vantage::view
