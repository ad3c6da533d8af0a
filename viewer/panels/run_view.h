// One run that is shown: its model, the data made of it, and its text.
#pragma once

#include <algorithm>
#include <optional>

#include "viewer/data/comparison.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_data.h"
#include "viewer/draw/fonts.h"
#include "viewer/panels/map_view.h"
#include "viewer/panels/running_text.h"

namespace vantage::view {

class RunView {
public:
    RunView(LiveModel& model, const ViewDataOptions& options) : live(model), data(model, options) {}

    /// Takes over the model's version and new tokens; their characters become part of the fonts.
    void read(Fonts& fonts);
    void update_labels(const Fonts& fonts);
    bool has(const HeadId& head) const { return std::ranges::count(live.heads(), head) != 0; }
    /// Names of its own queries and keys.
    const std::vector<std::string>& row_labels(AttentionKind kind) const {
        return (kind == AttentionKind::encoder ? source_labels : labels).all();
    }
    const std::vector<std::string>& key_labels(AttentionKind kind) const {
        return (kind == AttentionKind::self ? labels : source_labels).all();
    }
    RunNow now() const { return {version, tokens}; }
    /// Whether a reading or a row that `wanted` asks for has not arrived. Gives up after two seconds.
    bool waits_for_reading(const Wanted& wanted, double now);

    LiveModel& live;
    ViewData data;
    const FrameData* frame = nullptr;  ///< null: no data yet, or no such head
    Version version;
    LiveTokens tokens;
    TextLabels labels, source_labels;
    RunningText running_text, running_source;

private:
    std::optional<Cell> asked_cell_;  ///< query and key of the last request
    double asked_at_ = 0;             ///< seconds
};

}  // namespace vantage::view
