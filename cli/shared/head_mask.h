// --mask-heads: heads that are silenced while a command runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vantage/session.h"

namespace CLI {
class App;
}

namespace vantage::cli {

/// --mask-heads 3.2,5.0: layer.head, both from 0; e, d or x before it says whose head of an encoder–decoder it is.
void add_head_mask_option(CLI::App& command, std::string& heads);
/// What it names, for SessionOptions::masked_heads; nothing where it names none. Throws usage for what is no list of heads.
std::optional<std::vector<HeadId>> masked_heads(const std::string& heads);

}  // namespace vantage::cli
