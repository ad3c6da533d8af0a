// What heads are worth: the loss of an input with each of them silenced in turn.
// Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?" (2019); Voita et al. (2019).
#pragma once

#include <vector>

#include "cli/shared/model_input.h"
#include "vantage/session.h"

namespace vantage::cli {

/// The kinds of attention that a model has, in the order in which its heads are told of: an encoder–decoder's encoder first.
std::vector<AttentionKind> attention_kinds(const Model& model);

/// In nats. Of models that write: the mean of −ln p(next token) over the tokens (of an encoder–decoder the decoder's). Of models that
/// name one label: −ln p of the label that the model names as it is.
struct Ablation {
    double baseline = 0;         ///< of the model as it is, or as `masked` leaves it
    std::vector<double> losses;  ///< with one head more silenced: kind by kind, layer by layer
};

/// Throws usage for an encoder that has no such loss.
void require_loss(const Model& model);
/// Throws usage where a model that writes has no next token.
void require_next_token(const Model& model, const ModelInput& input);
/// Runs the input once for every head.
Ablation ablate(const Model& model, const ModelInput& input, const SessionOptions& options);

}  // namespace vantage::cli
