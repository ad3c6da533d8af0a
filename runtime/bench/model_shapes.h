// The calls of known models for `vantage bench ops`, taken from the graphs that the models build, so that they cannot
// get out of date.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/shapes.h"
#include "runtime/models/config.h"

namespace vantage::internal {

/// A named shape (runtime/models/shapes.h), cut to `layers` layers (0: all). Throws usage for an unknown name.
ModelConfig shape_of_model(const std::string& name, std::int64_t layers = 0);

/// Adds the fused calls of one layer, the embedding and the output of known models, for prompts and single tokens, with
/// contexts up to 32768.
void add_model_cases(std::vector<BenchCase>& cases);

}  // namespace vantage::internal
