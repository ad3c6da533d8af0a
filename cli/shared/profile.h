// --profile FILE: a Chrome/Perfetto trace of the device's dispatches and of what the host did meanwhile; --profile -: a table of
// the dispatches by op, on stderr. For every command that runs a model.
#pragma once

#include <vector>

#include "vantage/device.h"
#include "vantage/plan.h"

namespace vantage::cli {

/// Whether --profile was given: sessions and batches are then made with SessionOptions::profile.
bool profiling();
/// From now on the host's spans are noted, if --profile was given.
void begin_profile();
/// Takes what a session or a batch has dispatched (take_timings), before it goes.
void note_dispatches(const Device& device, const std::vector<DispatchTiming>& timings);
/// Writes the file, or the table, of all that was noted.
void write_profile();

}  // namespace vantage::cli
