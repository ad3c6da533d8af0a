// When the next picture is to be made.
#include <algorithm>
#include <limits>

#include "viewer/panels/focus_finder.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

constexpr double longest_user_wait = 0.25;    // for a picture that the budget does not allow
constexpr double reading_wait = 0.01;         // from picture to picture while a reading is on its way
constexpr double cpu_pictures_a_second = 10;  // of a model at work, on devices that draw with the model's own cores

}  // namespace

void Viewer::note_frame(double now, double device_seconds, double host_seconds) {
    a_.data.note_frame(now, device_seconds, host_seconds);
    figures_.gfx_seconds = device_seconds;
    closed_until_ = now + a_.data.budget().opens_in(now);
}

double Viewer::next_of_user() const { return std::min(closed_until_, last_picture_ + longest_user_wait); }

double Viewer::next_of_model() const {
    return std::max(closed_until_, last_picture_ + (figures_.software ? 1 / cpu_pictures_a_second : 0));
}

bool Viewer::versions_wait() const {
    return a_.live.version().number != a_.version.number || (b_ && b_->live.version().number != b_->version.number);
}

/// Readings come a picture or two after they were asked for: until then there is more to draw, but not for ever.
bool Viewer::reading_due(RunView& side, double now) const {
    constexpr double patience = 2;  // seconds
    if (side.frame == nullptr) return false;
    const auto& reading = side.frame->reading;
    const Wanted what = wanted(side);
    const bool there = !what.under_mouse || (reading && reading->head == head() && reading->run == side.version.run &&
                                             Cell{reading->query, reading->key} == *what.under_mouse);
    const bool row_there = !what.reader || (side.frame->read && side.frame->read->first_row == *what.reader);
    const bool all = there && row_there;
    if (all || what.under_mouse != side.asked_cell) side.asked_at = now;
    side.asked_cell = what.under_mouse;
    return !all && now - side.asked_at < patience;
}

double Viewer::next_picture() const {
    if (pictures_due_ > 0) return next_of_user();
    double next = std::numeric_limits<double>::infinity();
    if (at_.blink_from) next = std::min(next, last_picture_ + blink_left(last_picture_));
    if (!at_.note.empty() && at_.note_until) next = std::min(next, *at_.note_until);
    // Of a model at work readings and what is refined come with its next picture.
    if (versions_wait() || finder_->answered()) return std::min(next, next_of_model());
    if (reading_due_) next = std::min(next, std::max(closed_until_, last_picture_ + reading_wait));
    if (distances_due_) next = std::min(next, *distances_due_);
    const auto wake = [&](const FrameData* frame) {
        if (frame != nullptr && frame->busy) next = std::min(next, last_picture_ + frame->wake_in);
    };
    wake(a_.frame);
    if (b_) wake(b_->frame);
    return next;
}

bool Viewer::due(double now) const { return now >= next_picture(); }

double Viewer::wake_in(double now) const {
    constexpr double longest = 1;
    return std::clamp(next_picture() - now, 0.0, longest);
}

}  // namespace vantage::view
