// Results on the host: a shape and its float32 values.
//
// Threads: values. Threads may read one Array at the same time.
// Errors: `usage` for shapes and indices, `bad_file` by save(). A call that throws changes nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vantage/tensor.h"

namespace vantage {

/// A range of positions along one axis: [first, first + count). The default is all of them.
struct Range {
    static constexpr std::int64_t all = -1;
    std::int64_t first = 0;
    std::int64_t count = all;
    /// The same range with `all` resolved for an axis of `size` positions. Throws usage for a range outside of [0,
    /// size), in the words of `what` ("queries").
    Range within(std::int64_t size, const std::string& what) const;
    std::int64_t end() const { return first + count; }
    bool operator==(const Range&) const = default;
};
/// `count` positions from `first` on.
inline Range rows(std::int64_t first, std::int64_t count) { return {first, count}; }

/// Contiguous row-major float32 values with a shape. Copies are independent of each other.
///
/// Threads: a value; several may read it at the same time.
class Array {
public:
    /// No values; the shape is [0].
    Array() : shape_{0} {}
    /// Throws usage when `values` has another number of elements than `shape`.
    Array(Shape shape, std::vector<float> values);

    const Shape& shape() const { return shape_; }
    std::span<const float> values() const { return values_; }
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    /// The values alone: moved out of an Array that is done with, else copied.
    std::vector<float> vector() const& { return values_; }
    std::vector<float> vector() && { return std::move(values_); }
    const float* data() const { return values_.data(); }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

    /// a(h, i, j): one value. Throws usage for another number of indices than dimensions, or an index outside of its
    /// axis.
    template <std::integral... Index>
    float operator()(Index... index) const {
        return values_[position({static_cast<std::int64_t>(index)...})];
    }
    /// The part at index `i` of the first axis, one dimension less: of [heads, rows, cols] the [rows, cols] of head i.
    /// Throws usage for a scalar or an index outside of the axis.
    Array row(std::int64_t i) const;

    /// Writes a NumPy file (.npy, float32), whole or not at all. Throws bad_file.
    void save(const std::string& path) const;

private:
    std::size_t position(std::initializer_list<std::int64_t> index) const;

    Shape shape_;
    std::vector<float> values_;
};

}  // namespace vantage
