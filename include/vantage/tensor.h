// Element types and shapes: plain data, no device.
//
// Threads: values and pure functions: any thread.
// Errors: the constructors of Shape and TensorType::bytes throw usage. Indices are not checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace vantage {

/// How the elements of a tensor are stored. Arithmetic is float32 whatever the storage. The quantized types, q8_0 and
/// what follows, are for weights: elements are integers of 8, 4, 5 or 6 bits, and those of a block have a scale in
/// common (as ggml's types of the same names, with x = the weight, q = the integer):
///   q8_0, q4_0, q5_0  x = d q, with an f16 d for 32 elements; 4 and 5 bits are from -8 and -16 on
///   q4_1, q5_1        x = d q + m, with f16 d and m for 32 elements
///   q4_k, q5_k        x = d s q - m n, with f16 d and m for 256 elements, s and n of 6 bits for 32
///   q6_k              x = d s q, with an f16 d for 256 elements, s of 8 bits for 16; q from -32 on
/// Caches may have q8_0 and q4_0.
enum class DType : std::uint8_t { f32, f16, bf16, i32, u32, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k };

/// Storage of a DType: groups of `elements` values in `bytes` bytes (plain types have one element a group). Those of
/// quantized types hold several blocks, for alignment: 256 elements, of q6_k 2048.
struct DTypeInfo {
    const char* name;
    std::uint32_t elements;
    std::uint32_t bytes;
};
const DTypeInfo& info(DType type);
inline const char* name_of(DType type) { return info(type).name; }
inline bool is_float(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }
inline bool is_quantized(DType type) { return info(type).elements > 1; }

/// Sizes of a contiguous row-major tensor, outermost first; at most six dimensions, none of them in a scalar.
///
/// Threads: a value.
class Shape {
public:
    static constexpr int max_rank = 6;
    Shape() = default;
    Shape(std::initializer_list<std::int64_t> sizes);
    explicit Shape(std::span<const std::int64_t> sizes);

    int rank() const { return rank_; }
    /// Size of dimension `i`; negative counts from the end, so `shape[-1]` is the row length.
    std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i < 0 ? rank_ + i : i)]; }
    std::int64_t& operator[](int i) { return sizes_[static_cast<std::size_t>(i < 0 ? rank_ + i : i)]; }
    std::int64_t elements() const;
    /// Number of rows: the product of all dimensions but the last (1 for a vector).
    std::int64_t rows() const {
        return rank_ == 0 ? 1
                          : elements() / (sizes_[static_cast<std::size_t>(rank_ - 1)]
                                              ? sizes_[static_cast<std::size_t>(rank_ - 1)]
                                              : 1);
    }
    std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }
    bool operator==(const Shape& other) const;
    std::string text() const;  ///< "[3, 768]"

private:
    std::array<std::int64_t, max_rank> sizes_{};
    int rank_ = 0;
};

/// Shape and storage of a tensor.
struct TensorType {
    Shape shape;
    DType dtype = DType::f32;
    std::uint64_t bytes() const;  ///< bytes of the data, without padding
    bool operator==(const TensorType&) const = default;
    std::string text() const;  ///< "f32 [3, 768]"
};

}  // namespace vantage
