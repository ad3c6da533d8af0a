// The calls that `vantage bench ops` measures: those that people compare, and every call that known models make.
#pragma once

#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/op.h"

namespace vantage {

struct BenchCase {
    std::string name;  ///< "512^3", "llama-1b 512 of 8192": a run of 512 rows at the end of 8192
    OpCall call;       ///< with its results
    bool quick = false;
    bool of_model = false;
    Cost cost() const;                              ///< zeros where the op does not say
    bool operator==(const BenchCase& other) const;  ///< the same call, whatever its name
};

/// All cases, by op in the order of the registry, small ones first; equal calls once. With `quick` only a few, those that
/// people compare before the models'.
std::vector<BenchCase> bench_cases(bool quick = false);
/// "f32 [512, 512], f16 [768, 512] transpose_b=true": operands that are there and not tiny, and the options.
std::string operands_text(const OpCall& call);

/// A named shape (runtime/models/shapes.h) with `layers` of its layers (0: all of them). Throws usage for another name.
ModelConfig shape_of_model(const std::string& name, std::int64_t layers = 0);

/// For bench_cases: the calls of one layer, the embedding and the head of these models, fused, for prompts and for single
/// tokens, in contexts up to 32768.
void add_model_cases(std::vector<BenchCase>& cases);
/// Adds the call, or, where it is there already, nothing.
void add_case(std::vector<BenchCase>& cases, BenchCase one);

}  // namespace vantage
