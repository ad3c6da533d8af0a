// `inspect` on an encoder–decoder: the decoder's tokens, and the cross-attention of each token; greedy continuations.
#pragma once

#include <vector>

#include "cli/shared/model_input.h"
#include "runtime/models/config.h"
#include "vantage/session.h"

namespace vantage::cli {

/// What the decoder of an encoder–decoder begins with: the start token, and the one that the config forces after it.
std::vector<std::int32_t> first_tokens(const ModelConfig& config);
/// The text that the model generates greedily for the source or the image of `input`, beginning with the start token:
/// at most `max_tokens` tokens.
std::vector<std::int32_t> generated_for(const Model& model, const ModelInput& input, std::int64_t max_tokens,
                                        SessionOptions options);
/// The generated tokens, at most `max_tokens`, with a progress line.
std::vector<std::int32_t> generate(Session& session, std::int64_t max_tokens);
/// The source token with the largest cross-attention weight of a decoder token; weights are means over all layers and
/// heads.
struct SourceRead {
    int key = 0;
    double weight = 0;
};
std::vector<SourceRead> source_reads(Session& session);

}  // namespace vantage::cli
