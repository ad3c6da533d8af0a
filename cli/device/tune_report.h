// What `vantage tune` found, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/tuning_files.h"
#include "runtime/measure/tune.h"

namespace vantage::cli {

struct TunedModelCall {
    ModelCall model;
    const Kernel* before = nullptr;     ///< what plans took until now
    std::optional<TunedResult> result;  ///< nothing where the time was over before
};

struct TuneReport {
    std::string model;
    TunedDevice device;
    std::int64_t context = 0;
    std::vector<TunedModelCall> calls;
    std::string path = {};  ///< of the table
};

void print_text(const TuneReport& report);
void print_json(const TuneReport& report);
/// The tables that are in use on this device.
void print_tables(const Caps& caps, bool as_json);

}  // namespace vantage::cli
