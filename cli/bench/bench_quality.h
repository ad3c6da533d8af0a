// vantage bench model --quality: the loss of quality by the storage of weights.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/bench/report.h"
#include "vantage/device.h"

namespace vantage::cli {

struct QualityOptions {
    bool wanted = false;
    std::string text;                        ///< a file; empty: the validation text of the built-in model
    std::int64_t tokens = 4096, window = 0;  ///< window 0: the model's context, at most 512
};

/// Adds one row per storage type: perplexity, and the difference from f32.
void add_quality_rows(Report& report, const Device& device, const QualityOptions& options);

}  // namespace vantage::cli
