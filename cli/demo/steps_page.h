// `demo --steps`: one head of a model on a text, with all its matrices.
#pragma once

#include <optional>
#include <string>

#include "vantage/model.h"

namespace vantage::cli {

struct StepsOptions {
    std::string prompt, masked, part;         ///< part: "encoder", "decoder", "cross"; empty: the model's first
    std::optional<std::int64_t> layer, head;  ///< default: the most salient head
    bool json = false;
};

inline constexpr std::int64_t max_steps_tokens = 32;

/// Runs the text and prints. Throws usage for longer texts and for a head or a part that is not there.
void show_steps(const Model& model, const StepsOptions& options);

}  // namespace vantage::cli
