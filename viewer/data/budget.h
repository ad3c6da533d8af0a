// What viewing may cost: a share of the device's and the host's time, taken from the model's tokens per second.
#pragma once

#include <deque>
#include <optional>

namespace vantage::view {

/// Time is the caller's, in seconds on any clock that only goes forward, so that this is plain arithmetic. A budget fills by its
/// share of the time that passes, holds at most `burst` seconds, and what was spent is taken from it; it may go below nothing by
/// one spending, and is then closed until it has filled again.
class Budget {
public:
    /// `percent` of the time; nothing: without a limit.
    explicit Budget(std::optional<double> percent = {}, double burst = 0.05);
    void limit(std::optional<double> percent);
    std::optional<double> percent() const { return percent_; }

    /// Whether something may be done now.
    bool open(double now);
    /// Seconds until it may; 0 where it may.
    double opens_in(double now);
    /// Opens it whatever was spent: for what somebody waits for. What was owed is forgotten, so that it is never closed for longer
    /// than the last spending takes to come in again.
    void allow(double now);
    /// Of the device's time and of the host's, whichever was longer would have been the model's.
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
