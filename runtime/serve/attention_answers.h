// POST /v1/attention: what the tokens of an answer read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/serve/api_error.h"
#include "runtime/serve/kept_texts.h"
#include "runtime/serve/served_model.h"
#include "vantage/session.h"

namespace vantage::serve {

struct AttentionRequest {
    std::string id;  ///< of the answer
    std::size_t choice = 0;
    std::vector<std::int64_t> layers;  ///< in order; those that attend
    /// Which heads of these layers: nothing is their mean in each layer.
    std::optional<std::vector<HeadId>> heads;
    Range rows, keys;       ///< of places; rows by default those that the answer was drawn from
    std::int64_t top = 8;   ///< the largest weights of a row; 0: all, as a window
    bool by_value = false;  ///< weights times ‖W_O v‖, divided by their sum
    std::vector<std::string> ignored;
};
/// Throws ApiError 400.
AttentionRequest parse_attention(const Json& body, const ServedModel& model);

/// Recomputes the attention of texts in a session of its own. In the scheduler's thread.
class AttentionAnswers : internal::NotCopied {
public:
    explicit AttentionAnswers(const SessionOptions& options) : options_(options) {}
    /// {"places": [text of each token], "prompt_tokens", "rows": [{"row", "reads": [{"layer", "head", "at", "w",
    /// "rest", "sink", "entropy"}]}]}, or with top 0 {"windows": [{"layer", "head", "first_row", "first_key",
    /// "weights"}]}. A row is the place whose logits drew the next token. Throws ApiError 400 for rows that are not
    /// there and for more than 2^20 numbers or 2^28 weights behind them, and as Session.
    Json answer(const AttentionRequest& request, const KeptText& text, const Model& model);
    /// Frees the session: before a device that was lost is opened again, and after an error.
    void forget() { session_.reset(); }

private:
    Session& session_for(const AttentionRequest& request, const KeptText& text, const Model& model);

    SessionOptions options_;
    std::optional<Session> session_;
    std::vector<std::int64_t> layers_;  // that it records
    const void* device_ = nullptr;      // that it is on: another one after a loss
};

}  // namespace vantage::serve
