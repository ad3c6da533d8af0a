// A few single weights of the focused head on the host: numbers for large cells, and what a query reads, key by key.
#pragma once

#include <memory>

#include "viewer/data/tiles.h"

namespace vantage::view {

class ExcerptReader {
public:
    /// Of at most so many weights.
    ExcerptReader(gpu::DeviceState& device, std::int64_t max_values, const char* name);

    /// Adds the reading of what `wanted` says (but for its weights) to the batch, unless it is known, or the look not ready for it.
    void ask(Excerpt wanted, const ViewSources::Layer& layer, const Extent& extent, const Look& look, ViewWork& work);
    /// Nothing is wanted.
    void rest() { current_ = true; }
    /// Takes what a finished batch has left.
    bool collect();
    /// Whether what was asked for last is known.
    bool current() const { return current_; }
    /// The last that is known, or null.
    const std::shared_ptr<const Excerpt>& excerpt() const { return excerpt_; }

private:
    gpu::DeviceState& device_;
    gpu::Buffer result_;
    std::optional<Excerpt> asked_;
    std::uint32_t asked_look_ = 0, look_ = 0;
    std::shared_ptr<const Excerpt> excerpt_;
    bool current_ = true;
};

}  // namespace vantage::view
