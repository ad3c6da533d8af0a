// What commands share that make a training step: --recompute, and the sizes of a step by default.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shared/cli11.h"

namespace vantage::cli {

inline constexpr std::int64_t max_micro_tokens = 4096;     ///< of a micro-batch
inline constexpr std::int64_t max_default_context = 1024;  ///< tokens of a sequence of a model with more positions

CLI::Option* add_recompute_option(CLI::App& command, std::string& recompute);
/// The value of --recompute as TrainOptions has it. Throws usage.
std::int64_t recompute_named(const std::string& text);
/// What a step recomputes, such as "cheap activations are recomputed". `recompute` as Trainer::recompute has it.
std::string recomputed_text(std::int64_t recompute);

}  // namespace vantage::cli
