#include "runtime/picture/attention_scale.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {

const char* name_of(AttentionScale scale) {
    switch (scale) {
        case AttentionScale::square_root: return "√";
        case AttentionScale::linear: return "linear";
        case AttentionScale::logarithmic: return "log";
    }
    return "?";
}

// Below, `share` is value / value_max and `low` is value_min / value_max.

float position_of(float value, float value_max, AttentionScale scale, float value_min) {
    const float share = value / value_max, low = value_min / value_max;
    if (!(share > low)) return 0.0f;  // also for NaN
    if (share >= 1.0f) return 1.0f;
    switch (scale) {
        case AttentionScale::square_root: return (std::sqrt(share) - std::sqrt(low)) / (1.0f - std::sqrt(low));
        case AttentionScale::linear: return (share - low) / (1.0f - low);
        case AttentionScale::logarithmic: break;
    }
    return std::max(0.0f, 1.0f - std::log(share) / std::log(std::max(low, logarithmic_floor)));
}

float value_at(float position, float value_max, AttentionScale scale, float value_min) {
    const float low = value_min / value_max;
    float share = 0;
    switch (scale) {
        case AttentionScale::square_root: {
            const float root = std::max(std::sqrt(low) + position * (1.0f - std::sqrt(low)), 0.0f);
            share = root * root;
            break;
        }
        case AttentionScale::linear: share = std::max(low + position * (1.0f - low), 0.0f); break;
        case AttentionScale::logarithmic:
            share = std::pow(std::max(low, logarithmic_floor), 1.0f - position);
            if (share <= logarithmic_floor) share = 0;  // the scale does not distinguish it from zero
            break;
    }
    return share * value_max;
}

std::string weight_text(float value, int digits) {
    if (value == 0.0f) return "0";
    if (std::abs(value) < 0.001f) {
        std::string text = format("{:.0e}", value);
        const std::size_t exponent = text.find("e-0");
        return exponent == std::string::npos ? text : text.erase(exponent + 2, 1);
    }
    return without_trailing_zeros(format("{:.{}f}", value, digits));
}

float scale_end(std::span<const float> values) {
    const float largest = std::ranges::max(values);
    return largest > 0 ? largest : 1;
}

std::vector<ScaleTick> scale_ticks(float value_max, AttentionScale scale, float value_min) {
    std::vector<float> shares;
    switch (scale) {
        case AttentionScale::square_root: shares = {0.0f, 0.01f, 0.1f, 0.25f, 0.5f, 1.0f}; break;
        case AttentionScale::linear: shares = {0.0f, 0.25f, 0.5f, 0.75f, 1.0f}; break;
        case AttentionScale::logarithmic: shares = {1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f}; break;
    }
    const float low = value_min / value_max;
    constexpr float apart = 0.05f;  // minimum distance to the first tick, so that texts do not overlap
    std::vector<ScaleTick> ticks;
    for (const float share : shares) {
        const bool first = ticks.empty();
        const float value = first ? std::max(share, low) * value_max : share * value_max;
        const float position = position_of(value, value_max, scale, value_min);
        if (first || value_min == 0.0f || position > apart) ticks.push_back({value, position, weight_text(value, 4)});
    }
    if (scale == AttentionScale::logarithmic || value_min > 0.0f) ticks.front().text = "≤ " + ticks.front().text;
    return ticks;
}

std::string cell_text(float value) {
    if (std::isnan(value)) return "nan";
    if (value >= 0.995f) return weight_text(value, value < 9.95f ? 1 : 0);
    return value < 0.005f ? "" : format("{:.2f}", value).substr(1);
}

}  // namespace vantage::internal
