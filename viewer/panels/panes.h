// The maps in the panel of the focused head.
#pragma once

#include <vector>

#include "viewer/panels/viewed_runs.h"

namespace vantage::view {

/// One map, or those of two runs side by side; the right one has the colour bar.
std::vector<Pane> lay_panes(const ViewedRuns& runs, const ViewState& state, const Fonts& fonts, const Box& panel,
                            float scale);

}  // namespace vantage::view
