// How likely a model finds the tokens of a prompt: `echo` with `logprobs`.
#pragma once

#include <span>
#include <vector>

#include "runtime/serve/scheduler.h"

namespace vantage::serve {

/// The tokens of a prompt with their logarithms of probability after those before them, and the `top` most probable in
/// their place; nothing of the first one. In a session of its own, which keeps [tokens, vocab] logits: throws usage for
/// more than 1 GiB of them, and as Session.
std::vector<DrawnToken> prompt_scores(const Model& model, const SessionOptions& options,
                                      std::span<const std::int32_t> ids, int top);

}  // namespace vantage::serve
