#include "runtime/train/loss_level.h"

#include <algorithm>

namespace vantage::internal {

double LossLevel::limit() const { return std::max(3 * best_, best_ + 1); }

bool LossLevel::diverges(double loss) {
    above_ = loss > limit() ? above_ + 1 : 0;
    if (std::ssize(last_) < steps)
        last_.push_back(loss);
    else
        last_[next_] = loss, next_ = (next_ + 1) % static_cast<std::size_t>(steps);
    if (std::ssize(last_) < steps) return false;
    std::vector<double> sorted = last_;
    const auto middle = sorted.begin() + steps / 2;
    std::ranges::nth_element(sorted, middle);
    best_ = std::min(best_, *middle);
    return above_ == steps;
}

}  // namespace vantage::internal
