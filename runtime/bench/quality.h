// What a storage of weights or of the cache costs in quality: how well the next tokens of a text are predicted, and how far the
// predictions are from those of the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vantage/session.h"

namespace vantage {

struct Quality {
    std::int64_t tokens = 0;  ///< that were predicted
    double nats = 0;          ///< mean of -ln p(token), natural logarithms
    double perplexity() const;
    double divergence = 0;  ///< mean of KL(reference || this) of the next-token distributions, in nats
    double same_top = 0;    ///< share of tokens for which both have the same most probable one
};

/// Adds up what a model says about a text, beside what the reference says. All sums are in double.
class QualityMeter {
public:
    /// Rows of logits [targets, vocab] of both, and the tokens that came.
    void add(std::span<const float> reference, std::span<const float> logits, std::span<const std::int32_t> targets);
    Quality quality() const;

private:
    std::int64_t tokens_ = 0, same_top_ = 0;
    double nats_ = 0, divergence_ = 0;
};

/// The logits of a reference, by window: on the host, vocabulary · 4 bytes for each token of the text.
using ReferenceLogits = std::vector<std::vector<float>>;

/// Measures a model on the text `ids`: in windows of `window` tokens, one behind the other, each with nothing before it; of a
/// window every token but the first is predicted. Where `reference` is empty the model is the reference itself, and its logits
/// are put there for others, so that one model at a time is held. Throws usage for a text of less than two tokens, and as
/// Session. `on_window(done, all)` tells how far it is.
Quality measure_quality(const Model& model, Precision precision, std::span<const std::int32_t> ids, std::int64_t window,
                        ReferenceLogits& reference,
                        const std::function<void(std::int64_t, std::int64_t)>& on_window = {});

}  // namespace vantage
