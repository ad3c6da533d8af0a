#include "runtime/io/weight_scale.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"

namespace vantage {

const char* name_of(WeightScale scale) {
    switch (scale) {
        case WeightScale::square_root: return "√";
        case WeightScale::linear: return "linear";
        case WeightScale::logarithmic: return "log";
    }
    return "?";
}

std::optional<WeightScale> weight_scale_named(std::string_view name) {
    if (name == "sqrt") return WeightScale::square_root;
    if (name == "linear") return WeightScale::linear;
    if (name == "log") return WeightScale::logarithmic;
    return std::nullopt;
}

float position_of(float value, float value_max, WeightScale scale) {
    const float share = value / value_max;
    if (!(share > 0.0f)) return 0.0f;  // also for NaN
    if (share >= 1.0f) return 1.0f;
    switch (scale) {
        case WeightScale::square_root: return std::sqrt(share);
        case WeightScale::linear: return share;
        case WeightScale::logarithmic: break;
    }
    return std::max(0.0f, 1.0f - std::log(share) / std::log(logarithmic_floor));
}

float value_at(float position, float value_max, WeightScale scale) {
    if (!(position > 0.0f)) return 0.0f;
    const float p = std::min(position, 1.0f);
    switch (scale) {
        case WeightScale::square_root: return p * p * value_max;
        case WeightScale::linear: return p * value_max;
        case WeightScale::logarithmic: break;
    }
    return std::pow(logarithmic_floor, 1.0f - p) * value_max;
}

std::string weight_text(float value, int digits) {
    if (value == 0.0f) return "0";
    if (std::abs(value) < 0.001f) {
        std::string text = format("%.0e", static_cast<double>(value));
        const std::size_t exponent = text.find("e-0");
        return exponent == std::string::npos ? text : text.erase(exponent + 2, 1);
    }
    std::string text = format("%.*f", digits, static_cast<double>(value));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::vector<ScaleTick> scale_ticks(float value_max, WeightScale scale) {
    std::vector<float> shares;
    switch (scale) {
        case WeightScale::square_root: shares = {0.0f, 0.01f, 0.1f, 0.25f, 0.5f, 1.0f}; break;
        case WeightScale::linear: shares = {0.0f, 0.25f, 0.5f, 0.75f, 1.0f}; break;
        case WeightScale::logarithmic: shares = {1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f}; break;
    }
    std::vector<ScaleTick> ticks;
    for (const float share : shares) {
        const float value = share * value_max;
        ticks.push_back({value, position_of(value, value_max, scale), weight_text(value, 4)});
    }
    if (scale == WeightScale::logarithmic) ticks.front().text = "≤ " + ticks.front().text;
    return ticks;
}

}  // namespace vantage
