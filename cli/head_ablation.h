// What heads are worth: the loss of a text with each of them silenced in turn.
// Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?" (2019); Voita et al. (2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vantage/session.h"

namespace vantage::cli {

/// Mean of −ln p(next token) over the tokens of a text, in nats.
struct Ablation {
    double baseline = 0;         ///< of the model as it is, or as `masked` leaves it
    std::vector<double> losses;  ///< with one head more silenced, layer by layer
};

/// Runs the text once for every head. Throws usage for an encoder, which predicts no next token, and for a single token.
Ablation ablate(const Model& model, std::span<const std::int32_t> ids, Precision precision,
                const std::vector<HeadPlace>& masked);

}  // namespace vantage::cli
