#include "vantage/tensor.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "shaders/params/quantized.h"

namespace vantage {

const DTypeInfo& info(DType type) {
    using namespace params;
    constexpr std::uint32_t halves = QUANT_GROUP / 2, fifth_bits = QUANT_GROUP / 8;  // bytes
    static constexpr std::array<DTypeInfo, 13> table{{
        {"f32", 1, 4},
        {"f16", 1, 2},
        {"bf16", 1, 2},
        {"i32", 1, 4},
        {"u32", 1, 4},
        {"q8_0", QUANT_GROUP, QUANT_GROUP + BLOCK_SCALES},
        {"q4_0", QUANT_GROUP, halves + BLOCK_SCALES},
        {"q4_1", QUANT_GROUP, halves + PAIR_SCALES},
        {"q5_0", QUANT_GROUP, halves + fifth_bits + BLOCK_SCALES},
        {"q5_1", QUANT_GROUP, halves + fifth_bits + PAIR_SCALES},
        {"q4_k", QUANT_GROUP, halves + BLOCK_SCALES},
        {"q5_k", QUANT_GROUP, halves + fifth_bits + BLOCK_SCALES},
        {"q6_k", Q6_K_GROUP, Q6_K_GROUP / 4 * 3 + Q6_K_SCALES},
    }};
    const auto index = static_cast<std::size_t>(type);
    if (index >= table.size()) throw usage_error("DType {} does not exist: there are {}", index, table.size());
    return table[index];
}

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
    if (sizes.size() > static_cast<std::size_t>(max_rank))
        throw usage_error("a shape of {} dimensions: at most {} are possible", sizes.size(), max_rank);
    rank_ = static_cast<int>(sizes.size());
    std::ranges::copy(sizes, sizes_.begin());
    static_cast<void>(elements());  // throws for an invalid shape where it is made
}

std::int64_t Shape::elements() const {
    // With a zero the product is zero, even if the product of the other sizes overflows.
    bool empty = false;
    for (const std::int64_t size : sizes()) {
        if (size < 0) throw usage_error("shape " + text() + " has a negative size: sizes are 0 or more");
        empty = empty || size == 0;
    }
    if (empty) return 0;
    std::int64_t product = 1;
    for (const std::int64_t size : sizes())
        if (__builtin_mul_overflow(product, size, &product))
            throw usage_error("shape " + text() + " has more elements than 64 bits can count");
    return product;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(sizes(), other.sizes()); }

std::string Shape::text() const {
    return "[" + join(sizes(), ", ", [](std::int64_t size) { return std::to_string(size); }) + "]";
}

std::uint64_t TensorType::bytes() const {
    const DTypeInfo& storage = info(dtype);
    const auto elements = static_cast<std::uint64_t>(shape.elements());
    const std::uint64_t blocks = elements / storage.elements + (elements % storage.elements != 0 ? 1 : 0);
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(blocks, std::uint64_t{storage.bytes}, &bytes))
        throw usage_error("tensor " + text() + " has more bytes than 64 bits can count");
    return bytes;
}

std::string TensorType::text() const { return std::string(name_of(dtype)) + " " + shape.text(); }

}  // namespace vantage
