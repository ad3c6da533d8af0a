// The layers of a live model as the viewer's kernels want them: how each attends, where its rows are, which pipelines
// fit it.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/pipelines.h"
#include "shaders/params/view.h"
#include "viewer/data/live_model.h"

namespace vantage::view {

class ViewSources {
public:
    /// Makes the pipelines of all kernels and layers.
    explicit ViewSources(const LiveModel& live);

    struct Layer {
        AttentionKind kind = AttentionKind::self;
        std::int64_t layer = 0;
        const TapSource* tapped = nullptr;
        params::ViewSource sizes{};
        std::uint64_t address = 0;        ///< of `sizes` on the device
        std::vector<std::uint32_t> spec;  ///< lanes, types and rules
        bool causal = false;              ///< no query sees a later key
        gpu::PipelineKey kernel(const char* shader) const { return {.module = shader, .spec = spec}; }

        /// Parameters of view/stream.comp: lanes, maximum rows of a lane, keys at a time. 0 lanes: not supported.
        struct Stream {
            std::uint32_t lanes = 0, each = 1, keys = 1;
            bool subgroup = false;  ///< a workgroup is one, whose lanes read keys for each other
            int min_level = 3;
            /// A cell is at least as high as a lane's rows.
            std::uint32_t rows_of_lane(int level) const { return std::min(each, 1u << level); }
            std::int64_t rows(int level) const { return std::int64_t{lanes} * rows_of_lane(level); }
        } stream;
        gpu::PipelineKey stream_kernel(int level) const;
        /// Whether to compute so many rows of cells of this level with it.
        bool streams(int level, std::int64_t rows) const;
    };
    const Layer& of(const HeadId& head) const { return layers_.at(number_.at({head.kind, head.layer})); }
    const std::vector<Layer>& layers() const { return layers_; }
    std::uint64_t some_address() const { return buffer_.address(); }

private:
    std::vector<Layer> layers_;
    std::map<std::pair<AttentionKind, std::int64_t>, std::size_t> number_;
    gpu::Buffer buffer_;
};

inline params::uvec2 address_words(std::uint64_t address) {
    return {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32)};
}

}  // namespace vantage::view
