// The loss of quality by the storage of weights or cache: perplexity on a text, and the divergence from a reference.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/session.h"

namespace vantage::internal {

struct Quality {
    std::int64_t tokens = 0;  ///< number of predicted tokens
    double nats = 0;          ///< mean of −ln p(token)
    double perplexity() const;
    double divergence = 0;  ///< mean of KL(reference || this) of the next-token distributions, in nats
    double same_top = 0;    ///< share of positions with the same most probable token
};

/// Sums over the tokens of a text, in double precision.
class QualityMeter {
public:
    /// Logits [targets, vocab] of the reference and of the model, and the actual tokens.
    void add(std::span<const float> reference, std::span<const float> logits, std::span<const std::int32_t> targets);
    Quality quality() const;

private:
    std::int64_t tokens_ = 0, same_top_ = 0;
    double nats_ = 0, divergence_ = 0;
};

/// The logits of the reference by window, on the host: 4 · vocabulary bytes per token.
using ReferenceLogits = std::vector<std::vector<float>>;

/// Measures a model on the text `ids`, in consecutive windows of `window` tokens without context before them. In each
/// window all tokens except the first are predicted. If `reference` is empty, the model is the reference and its logits
/// are stored there, so that only one model at a time is in memory. Throws usage for a text of fewer than two tokens,
/// and like Session. Calls `on_window(done, all)`.
Quality measure_quality(const Model& model, SessionOptions options, std::span<const std::int32_t> ids,
                        std::int64_t window, ReferenceLogits& reference,
                        const std::function<void(std::int64_t, std::int64_t)>& on_window = {});

}  // namespace vantage::internal
