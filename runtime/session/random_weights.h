// Weights for measurements: random numbers of the size that trained ones have.
#pragma once

#include <cstdint>
#include <map>

#include "runtime/base/internal.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// Draws a block of about a million numbers from N(0, 0.02²) for each storage type, and repeats it on the device
/// through every weight: a model of 8 G parameters is filled at copy bandwidth. The block is no multiple of usual row
/// lengths, so that rows of a matrix differ.
class RandomWeights {
public:
    RandomWeights(gpu::DeviceState& device, std::uint64_t seed) : device_(device), seed_(seed) {}
    /// Gains of norms are 1.
    void fill(const gpu::Buffer& to, const Value& value);

private:
    const gpu::Buffer& block(DType type);

    gpu::DeviceState& device_;
    std::uint64_t seed_;
    std::map<DType, gpu::Buffer> blocks_;
};

}  // namespace vantage::internal
