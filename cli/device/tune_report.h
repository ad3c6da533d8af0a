// Output of `vantage tune`: text or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/tuning_files.h"
#include "runtime/measure/tune.h"

namespace vantage::cli {

struct TunedModelCall {
    ModelCall model;
    const Kernel* before = nullptr;     ///< the choice before tuning
    std::optional<TunedResult> result;  ///< nothing if the time limit came first
};

struct TuneReport {
    std::string model;
    TunedDevice device;
    std::int64_t context = 0;
    std::vector<TunedModelCall> calls;
    std::string path = {};  ///< of the saved table
};

void print_text(const TuneReport& report);
void print_json(const TuneReport& report);
/// Prints the tables for this device.
void print_tables(const Caps& caps, bool as_json);

}  // namespace vantage::cli
