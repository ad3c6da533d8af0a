// --mask-heads: heads whose output is set to 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/cli11.h"
#include "vantage/session.h"

namespace vantage::cli {

/// --mask-heads 3.2,5.0: layer.head, both from 0. For an encoder–decoder with a prefix: e encoder, d decoder, x cross.
void add_head_mask_option(CLI::App& command, std::string& heads);
/// Parses the value, for SessionOptions::masked_heads; nothing if it is empty. Throws usage if it is not a list of
/// heads.
std::optional<std::vector<HeadId>> masked_heads(const std::string& heads);

}  // namespace vantage::cli
