// Blocks of ggml's quantized types as files have them: how they are made of floats, and how they become the groups that
// lie in memory (shaders/params/quantized.h).
//
// A block is 32 elements (q8_0, q4_0, q4_1, q5_0, q5_1) or 256 (q4_k, q5_k, q6_k), with its scales beside its quants:
// https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Elements and bytes of a block of a quantized type.
std::size_t block_elements(DType type);
std::size_t block_bytes(DType type);

/// Where a block has its f16 scales and minima, in bytes from its begin.
std::span<const std::uint8_t> scale_places(DType type);

/// Bytes of the parts of a group of a quantized type.
struct QuantLayout {
    std::size_t quants = 0, high = 0, scales = 0;
};
QuantLayout layout_of(DType type);

/// Makes a group of the blocks of one: info(type).bytes each. No number changes.
void regroup(DType type, const std::byte* blocks, std::byte* group);

/// Rounds block_elements(type) numbers below 1e9 to a block. Those of 32 are gguf-py's bit for bit. The others take, as
/// ggml's reference does, those of some scales and minima whose weighted squared error is the smallest. A scale beyond
/// f16 becomes an infinity.
void quantize_block(DType type, std::span<const float> values, std::byte* block);

}  // namespace vantage::internal
