// Head ablation: the loss of inputs with each head removed, one at a time.
// Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?" (2019); Voita et al. (2019).
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/shared/model_input.h"
#include "vantage/session.h"

namespace vantage::cli {

/// The attention kinds of a model, in the order of the output: encoder, decoder, cross.
std::vector<AttentionKind> attention_kinds(const Model& model);

/// Losses in nats. Models that generate: the mean of −ln p(next token) over the tokens (encoder–decoder: over the
/// decoder's). Models that predict one label: −ln p of the label that the complete model predicts.
struct Ablation {
    double baseline = 0;  ///< without ablation, the mean over the inputs; heads of --mask-heads stay removed
    struct Head {
        HeadId place;
        double change = 0;            ///< of the loss with this head removed, too: the mean over the inputs
        std::optional<double> error;  ///< its standard error; none for one input
    };
    std::vector<Head> heads;  ///< ordered by kind, layer, head
};

/// Throws usage, naming the option, for an encoder that has no such loss.
void require_loss(const Model& model, const char* option);
/// Throws usage if a model that generates has fewer than two tokens.
void require_next_token(const Model& model, const ModelInput& input);
/// All heads, ordered by kind, layer, head.
std::vector<HeadId> all_heads(const Model& model);
/// The mean, and its standard error, which one value does not have.
std::pair<double, std::optional<double>> mean_of(const std::vector<double>& values);
/// Runs every input once per head.
Ablation ablate(const Model& model, std::span<const ModelInput> inputs, const SessionOptions& options);

}  // namespace vantage::cli
