// Natural logarithms of probabilities of tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vantage::serve {

/// A token and its natural logarithm of probability by the model's own logits: before penalties, temperature and all
/// else that sampling does.
struct TokenLogprob {
    std::int32_t id = 0;
    double logprob = 0;
};

/// Logarithms of the softmax of logits: logit_i − max − ln Σ_j exp(logit_j − max), in double.
class Logprobs {
public:
    /// The logits must outlive it.
    explicit Logprobs(std::span<const float> logits);
    double of(std::int32_t id) const { return static_cast<double>(logits_[static_cast<std::size_t>(id)]) - log_sum_; }
    /// The `count` most probable ones, then `with` if it is none of them.
    std::vector<TokenLogprob> largest(int count, std::int32_t with) const;

private:
    std::span<const float> logits_;
    double log_sum_ = 0;
};

}  // namespace vantage::serve
