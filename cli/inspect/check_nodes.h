// Every node of a model's plans against its reference, on the tokens of a text.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "vantage/session.h"

namespace vantage::cli {

struct NodeCheck {
    std::size_t nodes = 0;  ///< that were compared
    std::int64_t rows = 0;  ///< of the plan that diverged, or of all
    std::optional<Divergence> diverged;
    std::string text() const;
};

/// Runs the plans that a prompt and then a generated token take, node by node, each from what the device had computed so
/// far; stops at the first node that is not what its reference says. Of a model that sees, `pixels` are the image; of an
/// encoder–decoder `source` is what its encoder reads; `types` are those of an encoder's tokens, all 0 when left out.
NodeCheck check_nodes(const Model& model, std::span<const std::int32_t> ids, SessionOptions options,
                      std::span<const float> pixels = {}, std::span<const std::int32_t> source = {},
                      std::span<const std::int32_t> types = {});

}  // namespace vantage::cli
