// Compares every node of a model's plans with its reference on one input.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "vantage/session.h"

namespace vantage::cli {

struct NodeCheck {
    std::size_t nodes = 0;  ///< compared
    std::int64_t rows = 0;  ///< rows of the plan that diverged, else of the last plan
    std::optional<Divergence> diverged;
    std::string text() const;
};

/// Runs the plans of the prompt and of one generated token, node by node. The reference of a node takes the values that
/// the device has computed so far. Stops at the first node that differs. `pixels`: the image, for vision models.
/// `source`: the encoder's tokens, for encoder–decoders. `types`: token types of an encoder, default 0.
NodeCheck check_nodes(const Model& model, std::span<const std::int32_t> ids, SessionOptions options,
                      std::span<const float> pixels = {}, std::span<const std::int32_t> source = {},
                      std::span<const std::int32_t> types = {});

}  // namespace vantage::cli
