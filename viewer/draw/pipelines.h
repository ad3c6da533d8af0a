// The viewer's graphics pipelines: triangles without vertex buffers, everything read by address, colours blended as
// sRGB bytes.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/internal.h"
#include "runtime/gpu/device_state.h"
#include "vantage/device.h"

namespace vantage::view {

enum class Shading : std::uint8_t { ui, map, picture };
inline constexpr std::size_t shading_count = 3;

/// All of them for one format of target, made when first used.
class DrawPipelines : NotCopied {
public:
    /// Throws unsupported when the device's queue does not draw.
    DrawPipelines(const Device& device, VkFormat target);
    ~DrawPipelines();

    VkPipeline of(Shading shading);
    VkPipelineLayout layout() const { return layout_; }

private:
    Device device_;
    VkFormat target_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::array<VkPipeline, shading_count> pipelines_{};
};

}  // namespace vantage::view
