// NumPy's file format, version 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <span>
#include <string>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// The bytes of a .npy file of little-endian float32 values in row-major order.
std::string npy_file(const Shape& shape, std::span<const float> values);

}  // namespace vantage::internal
