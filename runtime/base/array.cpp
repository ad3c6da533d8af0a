#include "vantage/array.h"

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/npy.h"

namespace vantage {

Range Range::within(std::int64_t size, const std::string& what) const {
    const Range range{first, count == all ? size - first : count};
    if (range.first < 0 || range.count < 0 || range.first > size || range.count > size - range.first)
        throw usage_error("{}: a range of {} from {} on is outside of the {} there are", what, range.count, range.first,
                          size);
    return range;
}

Array::Array(Shape shape, std::vector<float> values) : shape_(shape), values_(std::move(values)) {
    if (std::ssize(values_) != shape_.elements())
        throw usage_error("array: {} values are given, but {} has {}", values_.size(), shape_.text(),
                          shape_.elements());
}

std::size_t Array::position(std::initializer_list<std::int64_t> index) const {
    if (index.size() != shape_.sizes().size())
        throw usage_error("array: {} indices are given, but the shape is {}", index.size(), shape_.text());
    std::int64_t position = 0;
    int axis = 0;
    for (const std::int64_t i : index) {
        const std::int64_t size = shape_[axis++];
        if (i < 0 || i >= size)
            throw usage_error("array: index {} of axis {} is outside of shape {}", i, axis - 1, shape_.text());
        position = position * size + i;
    }
    return static_cast<std::size_t>(position);
}

Array Array::row(std::int64_t i) const {
    if (shape_.rank() == 0) throw usage_error("array: a scalar has no rows");
    if (i < 0 || i >= shape_[0]) throw usage_error("array: row {} is outside of shape {}", i, shape_.text());
    const Shape part(shape_.sizes().subspan(1));
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(i * part.elements());
    return {part, std::vector<float>(first, first + static_cast<std::ptrdiff_t>(part.elements()))};
}

void Array::save(const std::string& path) const { write_file(path, npy_file(shape_, values_)); }

}  // namespace vantage
