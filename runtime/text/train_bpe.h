// Training of byte-level BPE vocabularies: from counted words to tokens and merges.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/vocabulary.h"
#include "vantage/tokenizer.h"

namespace vantage::text {

/// A vocabulary whose tokens are spelled in the letters of byte_level.h.
struct TrainedBpe {
    std::vector<std::string> tokens;                              ///< by id
    std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;  ///< ids of both sides, by rank
};

/// The tokens before any merge: the special ones, then the letters of all bytes by code point. A special token that is
/// such a letter stands for both.
std::vector<std::string> initial_tokens(const std::vector<std::string>& special_tokens);

/// Merges pairs in `words` (bytes of each distinct word, and how often it occurs) until there are `options.vocab`
/// tokens, or no pair that occurs `options.min_frequency` times.
/// The result does not depend on the order of the words, and is that of Hugging Face's BpeTrainer.
TrainedBpe train_bpe(const StringMap<std::int64_t>& words, const BpeTrainingOptions& options,
                     const BpeTrainer::Progress& progress);

}  // namespace vantage::text
