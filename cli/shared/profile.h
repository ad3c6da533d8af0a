// --profile FILE: a Chrome/Perfetto trace of device dispatches and host work. --profile -: a table of dispatch times by
// op, on stderr. For every command that runs a model.
#pragma once

#include <vector>

#include "vantage/device.h"
#include "vantage/plan.h"

namespace vantage::cli {

/// Whether --profile was given. Sessions and batches must then be created with SessionOptions::profile.
bool profiling();
/// Starts recording host spans, if --profile was given.
void begin_profile();
/// Adds the dispatches of a session or a batch (take_timings). Call it before the session is destroyed.
void note_dispatches(const Device& device, const std::vector<DispatchTiming>& timings);
/// Writes the trace or the table.
void write_profile();

}  // namespace vantage::cli
