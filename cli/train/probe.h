// The text whose attention is measured and shown while a model learns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/internal.h"
#include "runtime/models/config.h"
#include "vantage/train.h"

namespace vantage::cli {

/// A session that reads the text again with the parameters that the model has then.
class Probe : NotCopied {
public:
    Probe(Trainer& trainer, std::vector<std::int32_t> tokens) : trainer_(trainer), tokens_(std::move(tokens)) {}
    Session& read();

private:
    Trainer& trainer_;
    std::vector<std::int32_t> tokens_;
    std::optional<Session> session_;
    std::int64_t step_ = -1;  ///< of the parameters with which it was read last
};

/// The tokens that the heads of a model read: those of a text; without one drawn tokens, twice in a row, in which
/// induction heads find each token of the second half in the first (Olsson et al. 2022). At most `context`, what the
/// model allows, and 128. Throws usage for a model that does not read one text, or that has no attention.
std::vector<std::int32_t> probe_tokens(const std::string& text, const internal::ModelConfig& config,
                                       const Tokenizer* tokenizer, std::int64_t context);

}  // namespace vantage::cli
