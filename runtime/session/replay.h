// Runs a sequence again in plans of its own, node by node: to compare nodes with their references, and to find the
// first result that is not finite.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "vantage/session.h"

namespace vantage::internal {

/// What a session was given. `types`: token types of an encoder, default 0; `source`: tokens of an encoder–decoder's
/// encoder (for an image as many zeros as it has places); `pixels`: the image, for models that have an image as input.
struct ReplayInput {
    std::span<const std::int32_t> ids, types = {}, source = {};
    std::span<const float> pixels = {};
};

/// Hands the plans of a prompt, in the order of a session, and the plan of one more token to `run`, each with its
/// states written, until `run` returns false. `run` must run the plan. The context is as short as the input allows.
void replay(const Model& model, SessionOptions options, const ReplayInput& input,
            const std::function<bool(Plan& plan, std::int64_t rows)>& run);

/// Throws accuracy: `what` ("the logits of token 12") is not finite. Replays the input to name the first node whose
/// result is not, and dumps it to the folder of the options.
[[noreturn]] void throw_not_finite(const Model& model, const SessionOptions& options, const ReplayInput& input,
                                   const std::string& what);

}  // namespace vantage::internal
