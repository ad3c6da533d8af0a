// How long a process takes to its first token, with caches empty and filled: for vantage bench model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "vantage/session.h"

namespace vantage::cli {

/// In a process of its own: what the start was made of, as a line of JSON on stdout, as soon as the first token is there.
/// `load` opens the device and makes the model.
void print_start(const std::function<Model()>& load, const SessionOptions& options);

/// Starts this program several times with `arguments`, which lead to print_start, and adds rows: nothing cached; the driver's own
/// cache filled but ours empty; both filled. The caches are in a folder of their own, so that the user's stay as they are.
void add_start_rows(Report& report, const std::vector<std::string>& arguments, int repeats, const std::string& model);

}  // namespace vantage::cli
