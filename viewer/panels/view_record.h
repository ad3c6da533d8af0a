// What a file or a command line says of the picture that is shown.
#pragma once

#include <array>
#include <string>

#include "viewer/export/view_export.h"
#include "viewer/panels/viewed_runs.h"

namespace vantage::view {

/// The state that makes the picture of this version again. A run that was stopped, stepped or is still at work has
/// other tokens than it would have at its end.
ViewState state_shown(const ViewedRuns& runs, const ViewState& state, const Version& version);

/// What opened the viewer, without the options of a view, and the picture's size and scale.
struct CommandContext {
    std::string command;
    std::array<int, 2> size;  ///< pixels
    float scale;
};
/// The command line that makes that state's picture again; empty where a program runs the model.
std::string command_line(const LiveModel& live, const ViewState& shown, const CommandContext& context);

/// What is shown, for files. All data is there.
ViewSubject subject_of(ViewedRuns& runs, const ViewState& state, const CommandContext& context);

}  // namespace vantage::view
