// The calls that `vantage bench ops` measures: common benchmark sizes, and all calls of known models.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

struct BenchCase {
    std::string name;  ///< "512^3", "llama-1b 512 of 8192": a run of 512 rows at the end of a context of 8192
    OpCall call;       ///< including its results
    bool quick = false;
    bool of_model = false;
    Cost cost() const;                              ///< zeros if the op has no cost function
    bool operator==(const BenchCase& other) const;  ///< equal calls; names do not count
};

/// All cases, ordered by op (as in the registry) and size, without duplicates. With `quick` only a few, common sizes
/// before those of models.
std::vector<BenchCase> bench_cases(bool quick = false);
/// "f32 [512, 512], f16 [768, 512] transpose_b=true": operands (absent and tiny ones omitted) and attributes.
std::string operands_text(const OpCall& call);

/// Adds the call unless it is already there.
void add_case(std::vector<BenchCase>& cases, BenchCase one);

}  // namespace vantage::internal
