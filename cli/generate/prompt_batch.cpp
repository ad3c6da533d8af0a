#include "cli/generate/prompt_batch.h"

#include <algorithm>

#include "cli/shared/output.h"
#include "runtime/base/at.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

std::vector<std::vector<std::int32_t>> ids_of(const Model& model, const std::vector<std::string>& prompts,
                                              std::int64_t context) {
    const std::int64_t max_tokens = context > 0 ? context : config_of(model).context_by_default();
    std::vector<std::vector<std::int32_t>> all;
    for (const std::string& prompt : prompts) {
        const std::string place = format("run: prompt {} of {}", all.size() + 1, prompts.size());
        all.push_back(encode_at(place, ErrorKind::usage, max_tokens, model.tokenizer(), prompt).ids);
        if (const std::int64_t count = std::ssize(all.back()); count == 0 || count > max_tokens)
            throw usage_error("run: prompt {} of {} has {} tokens; expected 1 to {}", all.size(), prompts.size(), count,
                              max_tokens);
    }
    return all;
}

SessionOptions session_for(const Model& model, std::span<const std::vector<std::int32_t>> prompts,
                           const GeneratorOptions& options) {
    SessionOptions session = options.session;
    if (session.context > 0) return session;
    const ModelConfig& c = config_of(model);
    std::size_t longest = 0;
    for (const std::vector<std::int32_t>& ids : prompts) longest = std::max(longest, ids.size());
    // one more than the start and first tokens of an encoder–decoder, so that no text ends because the context is full
    const std::int64_t needed = static_cast<std::int64_t>(longest) + std::min(options.max_tokens, c.context) + 2;
    session.rope_context = c.context_by_default();  // as in a session with one prompt
    session.context = std::clamp<std::int64_t>(needed, 1, session.rope_context);
    return session;
}

void add(SessionStats& sum, const SessionStats& more) {
    sum.prompt_tokens += more.prompt_tokens, sum.generated_tokens += more.generated_tokens;
    sum.compile_seconds += more.compile_seconds, sum.host_seconds += more.host_seconds;
    sum.prompt_seconds += more.prompt_seconds, sum.generate_seconds += more.generate_seconds;
}

/// The text with "> " before every line.
std::string quoted(const std::string& text) {
    const std::string all = join(lines_of(text), "", [](const std::string& line) { return "> " + line + "\n"; });
    return all.empty() ? "> \n" : all;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        if (lines.back().ends_with('\r')) lines.back().pop_back();
        at = end + 1;
    }
    return lines;
}

PromptBatch::PromptBatch(const Model& model, std::vector<std::string> prompts, GenerationOptions options,
                         std::int64_t together)
    : prompts_(std::move(prompts)),
      ids_(ids_of(model, prompts_, options.generator.session.context)),
      options_(std::move(options)),
      batch_(model, std::min(together, std::ssize(prompts_)), session_for(model, ids_, options_.generator)) {}

SessionStats PromptBatch::run(bool json) {
    SessionStats all;
    const auto together = static_cast<std::size_t>(batch_.size());
    for (std::size_t first = 0; first < prompts_.size(); first += together) {
        run_some(first, std::min(together, prompts_.size() - first), json);
        add(all, batch_.stats());
    }
    return all;
}

void PromptBatch::run_some(std::size_t first, std::size_t count, bool json) {
    std::optional<EndDeferred> incomplete_texts_are_written;
    if (!json) incomplete_texts_are_written.emplace();
    std::vector<std::string> texts(count);
    try {
        const std::vector<Completion> completions =
            complete(batch_, std::span(ids_).subspan(first, count), options_.sampling, options_.generator,
                     [&](std::int64_t i, const Token& token) {
                         at(texts, i) += token.text;
                         return true;
                     });
        for (std::size_t i = 0; i < count; ++i) {
            write(first + i, completions[i], json);
            texts_ += completions[i].ids.empty() ? 0 : 1;
        }
    } catch (const Error&) {
        if (!json)
            for (std::size_t i = 0; i < count; ++i)
                if (!texts[i].empty()) write(first + i, {.text = texts[i]}, false);
        throw;
    }
}

void PromptBatch::write(std::size_t prompt, const Completion& completion, bool json) const {
    if (completion.ending == Ending::context_full)
        log(LogLevel::warning, "prompt {}: the context of {} tokens is full", prompt + 1, batch_.context());
    if (completion.ending == Ending::dead_end)
        log(LogLevel::warning, "prompt {}: the grammar or the biases allow no token here", prompt + 1);
    if (!json) return write_out(quoted(prompts_[prompt]) + completion.text + "\n\n");
    const Json all = {{"schema_version", 1},
                      {"model", batch_.model().info().name},
                      {"attention_kind", name_of(options_.generator.session.variant)},
                      {"device", batch_.model().device().caps().name},
                      {"prompt", prompts_[prompt]},
                      {"text", completion.text},
                      {"ids", completion.ids},
                      {"ending", name_of(completion.ending)},
                      {"prompt_tokens", ids_[prompt].size()},
                      {"generated_tokens", completion.ids.size()}};
    write_out(json_text(all, -1) + "\n");
}

}  // namespace vantage::cli
