// The model of a server, with what requests need of it.
#pragma once

#include <optional>
#include <string>

#include "runtime/models/config.h"
#include "runtime/serve/kept_texts.h"
#include "runtime/serve/scheduler.h"
#include "runtime/session/chat_style.h"
#include "vantage/batch.h"
#include "vantage/model.h"

namespace vantage::serve {

struct ServedModel {
    ServedModel(const Model& loaded, const std::string& id, const std::string& chat_template, Pooling pool,
                SchedulerOptions options, std::size_t kept_answers = 8, double kept_seconds = 60);

    // What is known of the model, without its weights: after a loss of the device the scheduler loads them again.
    const ModelInfo info;
    const internal::ModelConfig config;
    const Tokenizer tokenizer;
    const Sampling sampling;  ///< recommended_sampling
    const std::string name;
    const std::int64_t created;     ///< Unix time
    const std::string fingerprint;  ///< of version, model, device, driver and precision
    std::optional<ChatStyle> chat;  ///< nothing: no chat template
    const Pooling pooling;
    SessionOptions session_options;  ///< of sessions beside the scheduler's: with its context for LongRoPE
    mutable KeptTexts kept;
    Scheduler scheduler;

    bool is_encoder() const { return config.kind == internal::ModelKind::encoder; }
    /// Throws ApiError 400 without a chat template.
    const internal::ChatStyle& chat_style() const;
    /// The ids of a prompt. Throws usage for a text that is too long.
    std::vector<std::int32_t> encoded(std::string_view text, bool add_special) const;
};

}  // namespace vantage::serve
