// Weights on their way from a file or a caller to the device: turned to the layout and rounded to the storage that
// kernels want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/internal.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Uploads `bytes`, rows or matrices of `type` whose elements are still of type `from`, some rows at a time: nothing is
/// held twice. `offset` is where they begin. `turned`: `type` is that of the result [.., out, in], and `bytes` have its
/// matrices as [in, out]. Throws unsupported where a finite value is too large for f16.
void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, std::span<const std::byte> bytes);

}  // namespace vantage::internal
