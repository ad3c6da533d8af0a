// Text in, text out, of several prompts at once.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"
#include "runtime/session/text_stream.h"
#include "vantage/batch.h"

namespace vantage {

namespace {

void begin_prompts(Batch& batch, std::span<const std::vector<std::int32_t>> prompts, const Sampling& sampling) {
    if (std::ssize(prompts) > batch.size())
        throw usage_error("{} prompts do not fit a batch of {} sequences", prompts.size(), batch.size());
    batch.restart(sampling);
    const ModelConfig& config = config_of(batch.model());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        if (prompts[i].empty())
            throw usage_error("there is nothing to continue: prompt {} of {} has no tokens", i + 1, prompts.size());
        Sequence& sequence = batch[static_cast<std::int64_t>(i)];
        if (config.kind == ModelKind::encoder_decoder)
            begin_answer(sequence, prompts[i]);
        else
            sequence.append(prompts[i]);
    }
}

}  // namespace

std::vector<Completion> complete(Batch& batch, std::span<const std::vector<std::int32_t>> prompts,
                                 const Sampling& sampling, const GeneratorOptions& options,
                                 const std::function<bool(std::int64_t, const Token&)>& on_token) {
    const SessionUse whole_call = SessionAccess::use(batch);
    begin_prompts(batch, prompts, sampling);
    std::vector<Completion> completions(prompts.size());
    std::vector<TextStream> texts;
    std::vector<std::size_t> before;  // tokens that were not drawn
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        texts.emplace_back(batch.model().tokenizer(), options);
        before.push_back(batch[static_cast<std::int64_t>(i)].tokens().size());
    }

    const auto take = [&](std::size_t i, std::optional<std::int32_t> id) {
        const auto sequence = static_cast<std::int64_t>(i);
        const std::optional<Token> token = texts[i].take(id, reason_to_end(batch[sequence]));
        if (!token) return true;
        completions[i].text += token->text;
        if (!on_token || on_token(sequence, *token)) return true;
        texts[i].stop();
        return false;
    };
    std::vector<bool> goes_on(prompts.size(), true);
    while (std::ranges::count(goes_on, true) > 0) {
        throw_if_interrupted();
        std::vector<std::optional<std::int32_t>> drawn(prompts.size());
        if (std::ranges::any_of(texts, &TextStream::wants_more)) drawn = batch.next();
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            if (!goes_on[i]) continue;
            goes_on[i] = take(i, drawn[i]) && !texts[i].done();
            if (goes_on[i] && !texts[i].wants_more()) goes_on[i] = take(i, std::nullopt) && !texts[i].done();
            if (!goes_on[i]) batch[static_cast<std::int64_t>(i)].end();
        }
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const std::vector<std::int32_t>& tokens = batch[static_cast<std::int64_t>(i)].tokens();
        completions[i].ids.assign(tokens.begin() + static_cast<std::ptrdiff_t>(before[i]), tokens.end());
        completions[i].ending = texts[i].ending();
    }
    return completions;
}

}  // namespace vantage
