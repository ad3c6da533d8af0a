#include "viewer/panels/ui.h"

#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::view {

float Ui::px(float logical) const { return std::round(logical * scale); }

float Ui::position(float value) const { return position_of(static_cast<double>(value), state.range, state.scale); }

std::int64_t Interaction::query(const ViewState& state, std::int64_t rows) const {
    if (const auto at = cell(); at && at->first < rows) return at->first;
    if (token && *token < rows) return *token;
    if (picked_token && *picked_token < rows) return *picked_token;
    for (auto pin = state.pins.rbegin(); pin != state.pins.rend(); ++pin)
        if (pin->kind == Pin::Kind::query && pin->token < rows) return pin->token;
    return first_query ? 0 : rows - 1;
}

std::string shown_name(HeadStatistic statistic, const LiveModel& live) {
    const bool vision = config_of(live.model()).is_vision();
    if (vision && statistic == HeadStatistic::first) return "[CLS]";
    if (vision && statistic == HeadStatistic::distance) return "mean distance (patches)";
    return name_of(statistic);
}

std::string layer_label(const HeadId& head) {
    const char* prefix = head.kind == AttentionKind::encoder ? "e" : head.kind == AttentionKind::cross ? "x" : "";
    return prefix + std::to_string(head.layer);
}

std::string layer_name(const HeadId& head) { return (head.kind == AttentionKind::self ? "L" : "") + layer_label(head); }

std::string short_name(const HeadId& head) { return layer_name(head) + format(" · H{}", head.head); }

std::string head_name(const HeadId& head) {
    const char* kind = head.kind == AttentionKind::encoder ? "Encoder layer"
                       : head.kind == AttentionKind::cross ? "Cross attention, layer"
                                                           : "Layer";
    return format("{} {} · Head {}", kind, head.layer, head.head);
}

std::string with_position(const std::string& label, std::int64_t token) { return label + format("·{}", token); }

std::string label_of(const std::vector<std::string>& labels, std::int64_t token) {
    if (token >= 0 && token < std::ssize(labels)) return at(labels, token);
    return format("#{}", token);
}

}  // namespace vantage::view
