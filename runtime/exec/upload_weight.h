// Weights on their way from a file or a caller to the device: turned to the layout and rounded to the storage that
// kernels want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/files.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/transfer.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Uploads what `read` gives, rows or matrices of `type` whose elements are still of type `from`, some rows at a time,
/// or a matrix. `offset` is where they begin, `bytes` how many there are. `turned`: `type` is that of the result
/// [.., out, in], and `read` has its matrices as [in, out]. Throws unsupported where a finite value is too large for
/// f16.
void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, std::uint64_t bytes, const gpu::FillBytes& read);
/// The same for bytes in memory.
void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, std::span<const std::byte> bytes);
/// The same for a tensor of a file. Throws bad_file, with `name` ("model.safetensors: wte.weight"), for a value that is
/// not finite. `minus_infinity`: -inf is a value, as in the bias of logits, whose token is then never drawn.
void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, const ByteSource& source, const std::string& name, bool minus_infinity);

}  // namespace vantage::internal
