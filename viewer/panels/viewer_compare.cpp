// Two runs in one window: which of them is seen, and what is done to both.
#include <cmath>
#include <limits>

#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

constexpr const char* nothing_to_compare =
    "Nothing to compare yet: start with --compare and another prompt=, weights=, precision= or model=";
constexpr double blink_seconds = 0.5;  // that each run is seen

std::int64_t turns_of(double from, double now) {
    return static_cast<std::int64_t>(std::floor(std::max(now - from, 0.0) / blink_seconds));
}

}  // namespace

ShownRuns Viewer::shown() const {
    if (!b_) return ShownRuns::a;
    if (!at_.blink_from) return state_.shown;
    // It begins with the run that was not seen before.
    const bool first_is_b = state_.shown != ShownRuns::b, even = turns_of(*at_.blink_from, now_) % 2 == 0;
    return first_is_b == even ? ShownRuns::b : ShownRuns::a;
}

double Viewer::blink_left(double now) const {
    return *at_.blink_from + static_cast<double>(turns_of(*at_.blink_from, now) + 1) * blink_seconds - now;
}

void Viewer::show(ShownRuns what) {
    if (!b_) return say(nothing_to_compare);
    at_.blink_from.reset();
    state_.shown = what;
}

void Viewer::toggle_blinking() {
    if (!b_) return say(nothing_to_compare);
    if (at_.blink_from)
        at_.blink_from.reset();
    else
        at_.blink_from = std::numeric_limits<double>::infinity();  // the next picture says when that was
}

// A run that reads what the other writes follows it by itself.
void Viewer::pause_or_resume() {
    if (!obeyed()) return;
    const bool paused = a_.live.version().activity == Activity::paused;
    each_side([&](RunView& side) {
        if (&side != &a_ && !comparison_->own_text()) return;
        paused ? side.live.resume() : side.live.pause();
    });
}

void Viewer::step() {
    if (!obeyed()) return;
    a_.live.step();
    if (b_ && comparison_->own_text()) b_->live.step();
}

void Viewer::stop() {
    if (!obeyed()) return;
    a_.live.stop();
    if (b_ && comparison_->own_text()) b_->live.stop();
}

ShownRows Viewer::shown_slots() const {
    ShownRows shown{comparison_->rows_of(AttentionKind::self), comparison_->rows_of(AttentionKind::encoder)};
    (head().kind == AttentionKind::encoder ? shown.source : shown.own) = rows();
    return shown;
}

/// The distances take their time from the budget of A.
void Viewer::update_distances(double now) {
    if (!b_) return;
    constexpr double seconds = 0.002;  // of the device's time in a picture
    Budget& budget = a_.data.budget();
    const bool more = distances_->update(*comparison_, shown_slots(), budget.open(now) ? seconds : 0);
    budget.spend(now, distances_->take_device_seconds(), 0);
    distances_due_ = more ? std::optional(now + budget.opens_in(now)) : std::nullopt;
}

void Viewer::collect_numbers(const RunView& front) {
    numbers_.assign(front.frame->heads.begin(), front.frame->heads.end());
    for (std::size_t i = 0; b_ && i < numbers_.size(); ++i)
        numbers_[i].mean[static_cast<std::size_t>(HeadStatistic::difference)] = distances_->of(front.live.heads()[i]);
}

/// In what this run is another than the other one: "A · f16".
std::string side_name(const LiveModel& live, const ViewState& state, bool is_b) {
    std::string name = is_b ? "B" : "A";
    const auto add = [&](const std::string& text) { name += " · " + text; };
    const Compared& compared = *state.compared;
    const ModelInfo& info = live.model().info();
    if (compared.model) add(info.name);
    if (compared.weights) add(info.weight_types + " weights");
    if (compared.precision) add(std::string(name_of(live.precision())) + " cache");
    if (compared.prompt) add("“" + (is_b ? *compared.prompt : state.prompt) + "”");
    return name;
}

}  // namespace vantage::view
