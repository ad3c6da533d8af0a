#include "viewer/draw/painter.h"

#include <algorithm>
#include <vector>

#include "params/view_draw.h"
#include "runtime/base/at.h"
#include "viewer/data/view_sources.h"

namespace vantage::view {
namespace {

using gpu::vk_struct;

/// Where the lists' triangles begin in the picture's memory, one list after another.
struct Triangles {
    std::uint64_t vertices = 0, indices = 0;
};

Triangles put_triangles(Frame& frame, const ImDrawData& data) {
    static_assert(sizeof(ImDrawVert) == 20, "shaders/view/ui.vert reads 5 words a vertex");
    std::vector<ImDrawVert> vertices;
    std::vector<std::uint32_t> indices;
    vertices.reserve(static_cast<std::size_t>(data.TotalVtxCount));
    indices.reserve(static_cast<std::size_t>(data.TotalIdxCount));
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        const auto base = u32(vertices.size());
        for (const ImDrawIdx index : list.IdxBuffer) indices.push_back(base + index);
        vertices.insert(vertices.end(), list.VtxBuffer.begin(), list.VtxBuffer.end());
    }
    return {frame.put(vertices), frame.put(indices)};
}

void draw_list(Painter& painter, const ImDrawList& list, params::ViewUiParams params, std::uint64_t vertices,
               std::uint32_t first_index) {
    for (const ImDrawCmd& command : list.CmdBuffer) {
        painter.clip(command.ClipRect);
        if (command.UserCallback != nullptr) {
            if (command.UserCallbackData != nullptr) (*static_cast<Drawing*>(command.UserCallbackData))(painter);
            continue;
        }
        if (command.ElemCount == 0) continue;
        params.vertices = address_words(vertices + command.VtxOffset * sizeof(ImDrawVert));
        painter.draw(Shading::ui, params, command.ElemCount, first_index + command.IdxOffset);
    }
}

}  // namespace

void Painter::clip(const ImVec4& r) {
    const auto inside = [](float value, std::uint32_t extent) {
        return static_cast<std::int32_t>(std::clamp(value, 0.0f, static_cast<float>(extent)));
    };
    const std::int32_t left = inside(r.x, target_.width), top = inside(r.y, target_.height);
    const std::int32_t right = inside(r.z, target_.width), bottom = inside(r.w, target_.height);
    const VkRect2D scissor{{left, top}, {u32(std::max(0, right - left)), u32(std::max(0, bottom - top))}};
    vkCmdSetScissor(frame_.commands(), 0, 1, &scissor);
}

void Painter::draw(Shading shading, std::span<const std::byte> params, std::uint32_t vertices, std::uint32_t first) {
    const VkPipeline pipeline = pipelines_.of(shading);
    if (pipeline != bound_) vkCmdBindPipeline(frame_.commands(), VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    bound_ = pipeline;
    vkCmdPushConstants(frame_.commands(), pipelines_.layout(),
                       VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, u32(params.size()), params.data());
    vkCmdDraw(frame_.commands(), vertices, 1, first, 0);
}

void Drawings::add(Drawing drawing) {
    all_.push_back(std::move(drawing));
    ImGui::GetWindowDrawList()->AddCallback([](const ImDrawList*, const ImDrawCmd*) {}, &all_.back());
}

void paint(Frame& frame, DrawPipelines& pipelines, const Target& target, const Fonts& fonts, const ImDrawData& data,
           const ImVec4& background) {
    const Triangles triangles = put_triangles(frame, data);
    auto attachment = vk_struct<VkRenderingAttachmentInfo>(VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO);
    attachment.imageView = target.view;
    attachment.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachment.clearValue.color = {{background.x, background.y, background.z, 1}};
    auto info = vk_struct<VkRenderingInfo>(VK_STRUCTURE_TYPE_RENDERING_INFO);
    info.renderArea = {{0, 0}, {target.width, target.height}};
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &attachment;
    vkCmdBeginRendering(frame.commands(), &info);
    const VkViewport viewport{0, 0, static_cast<float>(target.width), static_cast<float>(target.height), 0, 1};
    vkCmdSetViewport(frame.commands(), 0, 1, &viewport);
    Painter painter(frame, pipelines, target);
    params::ViewUiParams params{};
    params.indices = address_words(triangles.indices);
    params.atlas = address_words(fonts.atlas().address());
    params.width = painter.width();
    params.height = painter.height();
    params.atlas_width = fonts.atlas_width();
    params.atlas_height = fonts.atlas_height();
    std::uint32_t first_index = 0;
    for (int i = 0; i < data.CmdListsCount; ++i) {
        draw_list(painter, *data.CmdLists[i], params, triangles.vertices, first_index);
        first_index += u32(data.CmdLists[i]->IdxBuffer.Size);
    }
    vkCmdEndRendering(frame.commands());
}

}  // namespace vantage::view
