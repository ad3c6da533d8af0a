// `heads --ablate --prompts FILE`, or --gradients: how important each head is for many texts.
#pragma once

#include <string>

#include "cli/heads/head_ablation.h"

namespace vantage::cli {

/// The lines of a file as inputs; an encoder–decoder generates its text for each first. Throws usage for a line that
/// has no loss, with its number, and for a model without one.
std::vector<ModelInput> read_prompts(const std::string& command, const std::string& file, const Model& model,
                                     const SessionOptions& options);
/// `options` for the longest of the inputs.
SessionOptions options_for(std::span<const ModelInput> inputs, SessionOptions options);
/// "d1.0" or "1.0", as --mask-heads spells it.
std::string head_name(const Model& model, const HeadId& head);

/// Prints the heads by importance, or JSON. `gradients`: in place of an ablation.
void print_importance(const Model& model, const std::string& file, const SessionOptions& options, bool gradients,
                      bool json);

}  // namespace vantage::cli
