// Falcon Mamba: Mamba with step sizes, B and C normalised by RMSNorm without a weight.
// Zuo et al., "Falcon Mamba: The First Competitive Attention-free 7B Language Model" (2024).
#include "runtime/models/mamba.h"

namespace vantage::internal {

namespace {

void read_falcon_mamba(const JsonFields& fields, ModelConfig& c) {
    read_mamba(fields, c);
    c.own.set("select_eps", fields.optional_number("mixer_rms_eps", 0, 1).value_or(1e-6));
}

Tensor normalised(ModelBuilder& d, const std::string&, Tensor part) {
    return rms_norm(part, {}, d.config.own.number("select_eps"));
}

}  // namespace

const Architecture falcon_mamba("falcon_mamba", "FalconMamba", {"backbone."}, read_falcon_mamba,
                                [](ModelBuilder& d) { build_mamba_with(d, normalised); },
                                {.initial = {.range = mamba_range, .rule = initial_mamba}});

}  // namespace vantage::internal
