// vantage bench model --quality: what a storage of weights costs in quality.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "vantage/device.h"

namespace vantage::cli {

struct QualityOptions {
    bool wanted = false;
    std::string text;                        ///< a file; empty = the text that the built-in model was validated with
    std::int64_t tokens = 4096, window = 0;  ///< window 0 = the model's context, 512 at most
};

/// A row for each storage: perplexity, and what differs from f32.
void add_quality_rows(Report& report, const Device& device, const QualityOptions& options);

}  // namespace vantage::cli
