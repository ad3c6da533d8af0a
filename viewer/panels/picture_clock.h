// When the next picture is due. Times are seconds on the clock of the caller's `now`.
#pragma once

#include <limits>

namespace vantage::view {

/// What the next picture could show. Infinity: nothing to wait for.
struct PicturesWanted {
    static constexpr double never = std::numeric_limits<double>::infinity();
    double change_at = never;  ///< the picture changes by itself: a note ends, the other run blinks
    bool news = false;         ///< the model has a new version, or the search for a head an answer
    bool reading = false;      ///< a reading is on its way
    double refine_at = never;  ///< more of the data can be computed
};

class PictureClock {
public:
    /// `software`: the device draws with the CPU cores that also run the model.
    explicit PictureClock(bool software) : software_(software) {}

    /// Draw a few more pictures: widgets need several to react to what the user did.
    void touch() { due_ = 3; }
    bool touched() const { return due_ > 0; }
    void drawn(double now);
    /// The budget allows no picture before `at`.
    void set_budget_opens(double at) { budget_opens_ = at; }
    /// Time of the last picture; -1: none yet.
    double last() const { return last_; }
    double next(const PicturesWanted& wanted) const;

private:
    bool software_;
    int due_ = 3;
    double last_ = -1, budget_opens_ = 0;
};

}  // namespace vantage::view
