#include "viewer/draw/pipelines.h"

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/spirv.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"

namespace vantage::view {
namespace {

using gpu::vk_struct;

struct Stages {
    const char *vertex, *fragment;
};
constexpr std::array<Stages, shading_count> stages_of{
    {{"view_ui_vertex", "view_ui_fragment"}, {"view_area_vertex", "view_map"}, {"view_area_vertex", "view_picture"}}};

void require_graphics(const Device& device) {
    const gpu::DeviceParts& parts = device.state().parts;
    if ((gpu::queue_families(parts.physical).at(parts.queue_family).queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0) return;
    throw unsupported_error(
        "{} computes but does not draw: the viewer needs a queue with graphics; choose another --device, or use "
        "`vantage inspect`",
        device.caps().name);
}

gpu::ShaderModule make_module(const gpu::DeviceState& device, const char* name) {
    const SpirvModule* found = find_spirv(name);
    if (found == nullptr) throw unsupported_error("shader '{}' is not in this build", name);
    return {device, found->code, name};
}

VkPipelineShaderStageCreateInfo stage(VkShaderStageFlagBits which, const gpu::ShaderModule& module) {
    auto info = vk_struct<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
    info.stage = which;
    info.module = module.handle;
    info.pName = "main";
    return info;
}

VkPipeline make_pipeline(const gpu::DeviceState& device, VkPipelineLayout layout, VkFormat format,
                         const std::array<VkPipelineShaderStageCreateInfo, 2>& stages) {
    const auto vertices =
        vk_struct<VkPipelineVertexInputStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
    auto assembly =
        vk_struct<VkPipelineInputAssemblyStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    auto viewport = vk_struct<VkPipelineViewportStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
    viewport.viewportCount = viewport.scissorCount = 1;
    auto raster =
        vk_struct<VkPipelineRasterizationStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
    raster.lineWidth = 1;
    auto samples =
        vk_struct<VkPipelineMultisampleStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
    samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkPipelineColorBlendAttachmentState over{};
    over.blendEnable = VK_TRUE;
    over.srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA;
    over.dstColorBlendFactor = over.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    over.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
    over.colorWriteMask =
        VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
    auto blend =
        vk_struct<VkPipelineColorBlendStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
    blend.attachmentCount = 1;
    blend.pAttachments = &over;
    constexpr std::array<VkDynamicState, 2> changing{VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    auto dynamic = vk_struct<VkPipelineDynamicStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO);
    dynamic.dynamicStateCount = u32(changing.size());
    dynamic.pDynamicStates = changing.data();
    auto rendering = vk_struct<VkPipelineRenderingCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &format;
    auto info = vk_struct<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
    info.pNext = &rendering;
    info.stageCount = u32(stages.size());
    info.pStages = stages.data();
    info.pVertexInputState = &vertices;
    info.pInputAssemblyState = &assembly;
    info.pViewportState = &viewport;
    info.pRasterizationState = &raster;
    info.pMultisampleState = &samples;
    info.pColorBlendState = &blend;
    info.pDynamicState = &dynamic;
    info.layout = layout;
    VkPipeline made = VK_NULL_HANDLE;
    VK_CHECK(vkCreateGraphicsPipelines(device.device, VK_NULL_HANDLE, 1, &info, nullptr, &made));
    return made;
}

}  // namespace

DrawPipelines::DrawPipelines(const Device& device, VkFormat target) : device_(device), target_(target) {
    require_graphics(device);
    const VkPushConstantRange range{VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, 128};
    auto info = vk_struct<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    VK_CHECK(vkCreatePipelineLayout(device_.state().device, &info, nullptr, &layout_));
}

DrawPipelines::~DrawPipelines() {
    if (!gpu::wait_idle(device_.state())) return;
    const VkDevice device = device_.state().device;
    for (const VkPipeline pipeline : pipelines_) vkDestroyPipeline(device, pipeline, nullptr);
    vkDestroyPipelineLayout(device, layout_, nullptr);
}

VkPipeline DrawPipelines::of(Shading shading) {
    VkPipeline& made = pipelines_.at(static_cast<std::size_t>(shading));
    if (made != VK_NULL_HANDLE) return made;
    const gpu::DeviceState& state = device_.state();
    const Stages& names = stages_of.at(static_cast<std::size_t>(shading));
    const gpu::ShaderModule vertex = make_module(state, names.vertex), fragment = make_module(state, names.fragment);
    made = make_pipeline(state, layout_, target_,
                         {stage(VK_SHADER_STAGE_VERTEX_BIT, vertex), stage(VK_SHADER_STAGE_FRAGMENT_BIT, fragment)});
    state.set_name(VK_OBJECT_TYPE_PIPELINE, made, names.fragment);
    return made;
}

}  // namespace vantage::view
