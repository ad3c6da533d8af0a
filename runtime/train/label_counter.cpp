#include "runtime/train/label_counter.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/softmax.h"

namespace vantage::internal {

void LabelCounter::add(std::span<const float> logits, std::int32_t label) {
    const std::vector<double> p = softmax_of({logits.begin(), logits.end()});
    const auto best = std::ranges::max_element(p);
    const double bins = static_cast<double>(bins_.size()), confidence = std::isnan(*best) ? 0 : *best;
    Bin& bin = bins_[static_cast<std::size_t>(std::clamp(std::ceil(confidence * bins) - 1, 0.0, bins - 1))];
    bin.count += 1, bin.confidence += confidence;
    if (best - p.begin() == label) bin.right += 1;
}

LabelQuality LabelCounter::quality() const {
    double count = 0, right = 0, error = 0;
    for (const Bin& bin : bins_) count += bin.count, right += bin.right, error += std::abs(bin.right - bin.confidence);
    return {.accuracy = right / std::max(count, 1.0), .calibration_error = error / std::max(count, 1.0)};
}

}  // namespace vantage::internal
