// The time of a new process until its first token, with empty and filled caches: for `vantage bench model`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "vantage/session.h"

namespace vantage::cli {

/// Runs in the measured process: prints the parts of the start time as one line of JSON, as soon as the first token is
/// there. `load` opens the device and loads the model.
void print_start(const std::function<Model()>& load, const SessionOptions& options);

/// Starts this program several times with `arguments`, which call print_start, and adds rows: empty caches; driver
/// cache filled, Vantage's empty; both filled. The caches are in a temporary folder, so that the user's are not
/// touched.
void add_start_rows(Report& report, const std::vector<std::string>& arguments, int repeats, const std::string& model);

}  // namespace vantage::cli
