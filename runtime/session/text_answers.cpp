#include "runtime/session/text_answers.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/softmax.h"

namespace vantage::internal {

namespace {

/// Of column `column` of [rows, 2]: row 0, and the rows [first, last).
std::vector<double> place_probabilities(std::span<const float> logits, std::size_t column, std::size_t first,
                                        std::size_t last) {
    std::vector<double> x{static_cast<double>(logits[column])};
    for (std::size_t i = first; i < last; ++i) x.push_back(static_cast<double>(logits[2 * i + column]));
    return softmax_of(std::move(x));
}

}  // namespace

std::vector<TextAnswer> entities(std::span<const std::string> labels, std::span<const float> logits, std::size_t first,
                                 std::size_t last) {
    std::vector<TextAnswer> found;
    for (std::size_t i = first; i < last; ++i) {
        const std::span<const float> row = logits.subspan(i * labels.size(), labels.size());
        const std::vector<double> p = softmax_of({row.begin(), row.end()});
        const auto best = static_cast<std::size_t>(std::ranges::max_element(p) - p.begin());
        const bool tagged = labels[best].starts_with("B-") || labels[best].starts_with("I-");
        const std::string label = tagged ? labels[best].substr(2) : labels[best];
        const bool continues =
            !found.empty() && found.back().last == i && found.back().label == label && !labels[best].starts_with("B-");
        if (!continues) found.push_back({.label = label, .first = i});
        found.back().last = i + 1;
        found.back().probability += at(p, best);
    }
    std::erase_if(found, [](const TextAnswer& one) { return one.label == "O"; });
    for (TextAnswer& one : found) one.probability /= static_cast<double>(one.last - one.first);
    return found;
}

std::vector<TextAnswer> best_answers(std::span<const float> logits, std::size_t first, std::size_t last,
                                     std::size_t max_tokens, std::size_t count) {
    const std::vector<double> begins = place_probabilities(logits, 0, first, last),
                              ends = place_probabilities(logits, 1, first, last);
    std::vector<TextAnswer> all{{.label = {}, .probability = begins[0] * ends[0]}};
    for (std::size_t i = 1; i < begins.size(); ++i)
        for (std::size_t j = i; j < std::min(ends.size(), i + max_tokens); ++j)
            all.push_back({.label = {}, .first = first + i - 1, .last = first + j, .probability = begins[i] * ends[j]});
    std::ranges::stable_sort(all, std::greater(), &TextAnswer::probability);
    all.resize(std::min(all.size(), count));
    return all;
}

}  // namespace vantage::internal
