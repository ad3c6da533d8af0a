// `inspect` on an encoder–decoder: the decoder's tokens, the saved tensors, and the cross-attention of each token.
#pragma once

#include <vector>

#include "runtime/io/safetensors.h"
#include "vantage/session.h"

namespace vantage::cli {

/// The text that the model generates greedily for `source`, beginning with the start token: at most `max_tokens`
/// tokens.
std::vector<std::int32_t> generated_for(const Model& model, const std::vector<std::int32_t>& source,
                                        std::int64_t max_tokens, SessionOptions options);
/// The generated tokens, at most `max_tokens`, with a progress line.
std::vector<std::int32_t> generate(Session& session, std::int64_t max_tokens);
/// The weights of all heads of one kind, [layers, heads, rows, keys].
std::vector<float> all_weights(Session& session, AttentionKind kind, std::int64_t rows, std::int64_t keys);

/// Tokens, hidden states and the three attention kinds under the names of `inspect --save`. Owns the values that its
/// tensors refer to.
class SavedTranslation {
public:
    explicit SavedTranslation(Session& session);
    std::vector<TensorToWrite> tensors() const;

private:
    std::vector<float> weights(AttentionKind kind) const;
    Session& session_;
    std::vector<float> logits_, encoder_hidden_, encoder_last_, decoder_hidden_, encoder_attention_, decoder_attention_,
        cross_;
};

/// The source token with the largest cross-attention weight of a decoder token; weights are means over all layers and
/// heads.
struct SourceRead {
    int key = 0;
    double weight = 0;
};
std::vector<SourceRead> source_reads(Session& session);

}  // namespace vantage::cli
