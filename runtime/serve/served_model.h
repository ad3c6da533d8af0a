// The model of a server, with what requests need of it.
#pragma once

#include <optional>
#include <string>

#include "runtime/serve/kept_texts.h"
#include "runtime/serve/scheduler.h"
#include "runtime/text/chat_template.h"
#include "vantage/batch.h"
#include "vantage/model.h"

namespace vantage::serve {

struct ServedModel {
    ServedModel(const Model& loaded, std::string id, const std::string& chat_template, Pooling pool,
                SchedulerOptions options, std::size_t kept_answers = 8, double kept_seconds = 60);

    const Model model;  ///< its facts and tokenizer; after a loss of the device the scheduler has another one
    const std::string name;
    const std::int64_t created;            ///< Unix time
    const std::string fingerprint;         ///< of all that may change a text: version, weights, device, driver, options
    std::optional<text::ChatFormat> chat;  ///< nothing: no chat template
    GeneratorOptions chat_ends;            ///< what ends a reply besides the model's end tokens
    const Pooling pooling;
    const SessionOptions session_options;
    mutable KeptTexts kept;
    Scheduler scheduler;

    bool is_encoder() const;
    /// The text of messages as the chat template writes it. Throws ApiError 400 without a template.
    std::string rendered(const text::jinja::OrderedJson& messages, bool reply_follows) const;
    /// The ids of a prompt. Throws usage for a text that is too long.
    std::vector<std::int32_t> encoded(std::string_view text, bool add_special) const;
};

}  // namespace vantage::serve
