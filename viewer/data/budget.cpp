#include "viewer/data/budget.h"

#include <algorithm>

namespace vantage::view {

namespace {
constexpr double window = 4;  // seconds that the cost is the mean of
}

Budget::Budget(std::optional<double> percent, double burst) : percent_(percent), burst_(burst), left_(burst) {}

void Budget::limit(std::optional<double> percent) { percent_ = percent; }

void Budget::fill(double now) {
    if (!begin_) begin_ = filled_at_ = now;
    const double share = percent_.value_or(100) / 100;
    left_ = std::min(burst_, left_ + share * std::max(0.0, now - *filled_at_));
    filled_at_ = now;
    while (!spent_.empty() && spent_.front().at < now - window) spent_.pop_front();
}

double Budget::opens_in(double now) {
    fill(now);
    if (!percent_ || left_ > 0) return 0;
    return *percent_ > 0 ? (1e-6 - left_) / (*percent_ / 100) : window;
}

void Budget::allow(double now) {
    fill(now);
    left_ = std::max(left_, 1e-6);
}

bool Budget::open(double now) { return opens_in(now) == 0; }

void Budget::spend(double now, double device_seconds, double host_seconds) {
    fill(now);
    const double seconds = std::max(device_seconds, host_seconds);
    left_ -= seconds;
    spent_.push_back({now, seconds});
}

double Budget::cost(double now) const {
    if (!begin_) return 0;
    double sum = 0;
    for (const Spending& spending : spent_)
        if (spending.at >= now - window) sum += spending.seconds;
    const double passed = std::min(window, now - *begin_);
    return passed > 0 ? 100 * sum / passed : 0;
}

}  // namespace vantage::view
