#include "vantage/batch.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"
#include "runtime/session/text_stream.h"

namespace vantage {

Batch::Batch(const Model& model, std::int64_t sequences, const SessionOptions& options) {
    if (sequences < 1 || sequences > 65535)
        throw usage_error("a batch of {} sequences was asked for; it has 1 to 65535", sequences);
    if (config_of(model).sees())
        throw usage_error(described(model.info()) +
                          " takes images: a batch takes texts; a session takes images, one by one");
    if (sequences > 1 && config_of(model).runs_alone())
        throw usage_error(described(model.info()) +
                          " has relative queries (position_embedding_type \"relative_key_query\"): a batch has one "
                          "sequence");
    if (options.record_attention.every || !options.record_attention.layers.empty())
        throw usage_error("a batch records no attention; a session does");
    core_ = std::make_shared<SessionOwner>(std::make_unique<SessionCore>(model, options, sequences, false));
    sequences_.reserve(static_cast<std::size_t>(sequences));
    for (std::int64_t i = 0; i < sequences; ++i)
        sequences_.emplace_back(new Sequence(core_, static_cast<std::size_t>(i)));  // its constructor is protected
}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

SessionUse Batch::use() const { return SessionUse(core_); }

std::int64_t Batch::size() const { return std::ssize(use()->sequences); }

const Sequence& Batch::operator[](std::int64_t sequence) const {
    if (sequence < 0 || sequence >= size())
        throw usage_error("a batch of {} sequences has no sequence {}", sequences_.size(), sequence);
    return *at(sequences_, sequence);
}
Sequence& Batch::operator[](std::int64_t sequence) { return const_cast<Sequence&>(std::as_const(*this)[sequence]); }

void Batch::restart() {
    const auto core = use();
    for (const auto& one : sequences_) one->restart();
    core->runs.set_stats({});
}
void Batch::restart(const Sampling& sampling) {
    const auto core = use();
    for (const auto& one : sequences_) one->restart(sampling);
    core->runs.set_stats({});
}
void Batch::recover(const std::function<Model()>& reload) {
    const SessionUse call(core_, true);
    call.owner().recover(reload);
}

void Batch::run() { use()->run(); }
void Batch::run(std::int64_t sequence) { use()->run((*this)[sequence].index_); }
std::vector<std::optional<std::int32_t>> Batch::next() { return use()->next(); }

void Batch::generate(std::int64_t count, const std::function<bool(std::int64_t, std::int32_t)>& on_token) {
    const SessionUse whole_call = use();
    for (std::int64_t round = 0; round < count; ++round) {
        const std::vector<std::optional<std::int32_t>> drawn = next();
        bool any = false;
        for (std::int64_t i = 0; i < std::ssize(drawn); ++i) {
            const std::optional<std::int32_t>& token = at(drawn, i);
            any = any || token;
            if (token && on_token && !on_token(i, *token)) (*this)[i].end();
        }
        if (!any) return;
    }
}

std::int64_t Batch::context() const { return required(core_).context; }
const Model& Batch::model() const { return required(core_).model; }
const SessionStats& Batch::stats() const { return use()->runs.stats(); }
SessionMemory Batch::memory() const { return use()->memory(); }
std::vector<DispatchTiming> Batch::take_timings() { return use()->runs.take_timings(); }

// ---- text in, text out, of several prompts at once -------------------------------------------------------------------

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
    begin_prompts(batch, prompts, with_ends(sampling, options.end_tokens));
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
        if (std::ranges::any_of(texts, &TextStream::wants_more))
            drawn = surviving_a_loss(batch, options.reload, [&] { return batch.next(); });
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
