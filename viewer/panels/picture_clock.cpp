#include "viewer/panels/picture_clock.h"

#include <algorithm>

namespace vantage::view {
namespace {

constexpr double longest_user_wait = 0.25;  // seconds until the user sees a picture that the budget does not allow
constexpr double reading_wait = 0.01;       // seconds between pictures while a reading is on its way
constexpr double cpu_picture = 0.1;         // shortest time between pictures of a working model on CPU devices

}  // namespace

void PictureClock::drawn(double now) {
    due_ = std::max(0, due_ - 1);
    last_ = now;
}

double PictureClock::next(const PicturesWanted& wanted) const {
    if (touched()) return std::min(budget_opens_, last_ + longest_user_wait);
    // While the model works, readings and refinements come with the pictures of its versions.
    if (wanted.news) return std::min(wanted.change_at, std::max(budget_opens_, last_ + (software_ ? cpu_picture : 0)));
    const double next = std::min(wanted.change_at, wanted.refine_at);
    return wanted.reading ? std::min(next, std::max(budget_opens_, last_ + reading_wait)) : next;
}

}  // namespace vantage::view
