// Learning rates by step, made on the host in double: Vulkan's exp and pow are too coarse.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

constexpr std::array schedule_names = {"constant", "linear", "cosine", "inverse_sqrt", "noam"};

double rate_of(const RateOptions& o, double s, double steps) {
    const auto w = static_cast<double>(o.warmup);
    if (o.schedule == RateSchedule::noam)
        return o.rate / std::sqrt(static_cast<double>(o.width)) *
               std::min(1 / std::sqrt(s), w > 0 ? s * std::pow(w, -1.5) : 1 / std::sqrt(s));
    if (s <= w) return o.rate * s / w;
    const double passed = steps > w ? std::min(1.0, (s - w) / (steps - w)) : 1;
    switch (o.schedule) {
        case RateSchedule::linear: return o.rate * (1 - passed);
        case RateSchedule::cosine: return o.floor + (o.rate - o.floor) * (1 + std::cos(std::numbers::pi * passed)) / 2;
        case RateSchedule::inverse_sqrt: return o.rate * std::sqrt(std::max(w, 1.0) / s);
        default: return o.rate;
    }
}

}  // namespace

const char* name_of(RateSchedule schedule) { return internal::at(schedule_names, schedule); }

RateSchedule schedule_named(const std::string& name) {
    const auto found = std::ranges::find(schedule_names, name);
    if (found == schedule_names.end())
        throw internal::usage_error("schedule {} is none of constant, linear, cosine, inverse_sqrt, noam", name);
    return static_cast<RateSchedule>(found - schedule_names.begin());
}

std::vector<float> learning_rates(const RateOptions& o, std::int64_t steps) {
    if (steps < 0 || steps > 1 << 24)
        throw internal::usage_error("learning_rates: steps is {}, but must be from 0 to 2^24", steps);
    if (!(o.rate >= 0) || !std::isfinite(o.rate) || !(o.floor >= 0) || o.floor > o.rate || o.warmup < 0)
        throw internal::usage_error(
            "learning_rates: rate {:g}, floor {:g} and warmup {} must be 0 or more, and the "
            "floor at most the rate",
            o.rate, o.floor, o.warmup);
    if (o.schedule == RateSchedule::noam && o.width < 1)
        throw internal::usage_error("learning_rates: noam goes by the width of the model, but width is {}", o.width);
    std::vector<float> rates;
    for (std::int64_t s = 1; s <= steps; ++s)
        rates.push_back(static_cast<float>(rate_of(o, static_cast<double>(s), static_cast<double>(steps))));
    return rates;
}

}  // namespace vantage
