// Matrices [in, out] of a file or a caller, which kernels want as [out, in].
#pragma once

#include <cstdint>
#include <span>

#include "runtime/gpu/device.h"
#include "vantage/tensor.h"

namespace vantage {

/// Turns and uploads each matrix of `bytes`, some output rows at a time: nothing is held twice. `type` is that of the result
/// [.., out, in]; `offset` is where it begins.
void upload_turned(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   std::span<const std::byte> bytes);

}  // namespace vantage
