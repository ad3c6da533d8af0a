// The budget of the viewer: a share of the device's and the host's time.
#pragma once

#include <deque>
#include <optional>

namespace vantage::view {

/// Times are the caller's, in seconds on a clock that goes forward. The budget fills by its share of the time that
/// passes, up to `burst` seconds. Spending reduces it, possibly below 0; then it is closed until it has filled again.
class Budget {
public:
    /// `percent` of the time; nothing: no limit.
    explicit Budget(std::optional<double> percent = {}, double burst = 0.05);
    void limit(std::optional<double> percent);
    std::optional<double> percent() const { return percent_; }

    /// Whether work may be done now.
    bool open(double now);
    /// Seconds until it opens; 0 while it is open.
    double opens_in(double now);
    /// Opens it regardless of what was spent, for work that the user waits for. The debt is cleared, so that it is
    /// never closed for longer than the last spending needs to fill again.
    void allow(double now);
    /// The longer of the device's and the host's time counts.
    void spend(double now, double device_seconds, double host_seconds);
    /// The share of the last seconds that was spent, in percent.
    double cost(double now) const;

private:
    struct Spending {
        double at, seconds;
    };
    void fill(double now);
    std::optional<double> percent_;
    double burst_, left_ = 0;
    std::optional<double> begin_, filled_at_;
    std::deque<Spending> spent_;  // of the last window
};

}  // namespace vantage::view
