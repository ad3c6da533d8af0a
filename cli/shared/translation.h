// `inspect` on an encoder–decoder: what the decoder is given, what is saved, and which source token each token reads.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/safetensors.h"
#include "vantage/session.h"

namespace vantage::cli {

/// What the model writes about the text by itself, its start token first: the most probable tokens, at most `most`.
std::vector<std::int32_t> written_about(const Model& model, const std::vector<std::int32_t>& source,
                                        std::int64_t max_tokens, SessionOptions options);

/// The session's text, hidden states and three kinds of attention under the names of `inspect --save`. Holds the numbers that
/// its tensors refer to.
class SavedTranslation {
public:
    explicit SavedTranslation(Session& session);
    std::vector<TensorToWrite> tensors() const;

private:
    std::vector<float> weights(AttentionKind kind) const;
    Session& session_;
    std::vector<float> encoder_hidden_, encoder_last_, decoder_hidden_, encoder_attention_, decoder_attention_, cross_;
};

/// The source token that the decoder's token `row` reads most, by the mean over all layers and heads.
struct SourceRead {
    int key = 0;
    double weight = 0;
};
std::vector<SourceRead> source_reads(Session& session);

}  // namespace vantage::cli
