#include "runtime/inspect/word_vectors.h"

#include <cmath>

#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

/// Letters, digits and all that is not ASCII.
bool in_word(char32_t c) {
    return c >= 128 || (c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
}

}  // namespace

std::pair<std::size_t, std::size_t> tokens_of_word(const std::string& text, const std::string& word,
                                                   std::span<const std::pair<std::size_t, std::size_t>> offsets) {
    const std::u32string all = decode_utf8(text), wanted = decode_utf8(word);
    if (wanted.empty()) return {0, 0};
    for (std::size_t begin = all.find(wanted); begin != std::u32string::npos; begin = all.find(wanted, begin + 1)) {
        const std::size_t end = begin + wanted.size();
        if (begin > 0 && in_word(all[begin - 1]) && in_word(wanted.front())) continue;
        if (end < all.size() && in_word(all[end]) && in_word(wanted.back())) continue;
        std::size_t first = 0;
        while (first < offsets.size() &&
               (offsets[first].second <= begin || offsets[first].first == offsets[first].second))
            ++first;
        std::size_t last = first;
        while (last < offsets.size() && offsets[last].first < end && offsets[last].second > begin) ++last;
        return {first, last};
    }
    return {0, 0};
}

std::vector<double> mean_vector(const Array& hidden, std::int64_t layer, std::size_t first, std::size_t last) {
    const auto tokens = static_cast<std::size_t>(hidden.shape()[1]),
               width = static_cast<std::size_t>(hidden.shape()[2]);
    std::vector<double> mean(width);
    for (std::size_t token = first; token < last; ++token)
        for (std::size_t d = 0; d < width; ++d)
            mean[d] +=
                static_cast<double>(hidden.values()[(static_cast<std::size_t>(layer) * tokens + token) * width + d]) /
                static_cast<double>(last - first);
    return mean;
}

double cosine(std::span<const double> a, std::span<const double> b) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i], of_a += a[i] * a[i], of_b += b[i] * b[i];
    return product / std::sqrt(of_a * of_b);  // 0 / 0 is NaN
}

}  // namespace vantage::internal
