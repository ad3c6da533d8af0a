#include "vantage/batch.h"

#include "runtime/base/log.h"
#include "runtime/session/runner.h"

namespace vantage {

struct Batch::State : Runner {
    using Runner::Runner;

    std::size_t index(std::int64_t sequence) const {
        if (sequence < 0 || sequence >= std::ssize(sequences))
            throw Error(ErrorKind::usage, format("a batch of %zu sequences has no sequence %lld", sequences.size(),
                                                 static_cast<long long>(sequence)));
        return static_cast<std::size_t>(sequence);
    }
    const Sequence& at(std::int64_t sequence) const { return sequences[index(sequence)]; }
};

Batch::Batch(const Model& model, std::int64_t sequences, const SessionOptions& options) {
    if (sequences < 1 || sequences > 65535)
        throw Error(ErrorKind::usage, format("a batch of %lld sequences was asked for; it has 1 to 65535",
                                             static_cast<long long>(sequences)));
    if (model.config().is_vision())
        throw Error(ErrorKind::usage, model.info().name + " looks at images (" + model.info().architecture +
                                          "): a batch takes texts; a session takes images, one by one");
    if (options.record_attention.every || !options.record_attention.layers.empty())
        throw Error(ErrorKind::usage, "a batch watches no attention; a session does");
    state_ = std::make_unique<State>(model, options, sequences);
}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

std::int64_t Batch::size() const { return std::ssize(state_->sequences); }

void Batch::restart(const Sampling& sampling) {
    for (std::size_t i = 0; i < state_->sequences.size(); ++i) state_->restart(i, sampling);
    state_->stats = {};
}
void Batch::restart(std::int64_t sequence, const Sampling& sampling) {
    state_->restart(state_->index(sequence), sampling);
}
void Batch::set_source(std::int64_t sequence, std::span<const std::int32_t> ids) {
    state_->set_source(state_->index(sequence), ids);
}
void Batch::append(std::int64_t sequence, std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    state_->append(state_->index(sequence), ids, types);
}
void Batch::rewind(std::int64_t sequence, std::int64_t count) { state_->rewind(state_->index(sequence), count); }
void Batch::run() { state_->run(); }
std::vector<std::optional<std::int32_t>> Batch::next() { return state_->next(); }
void Batch::end(std::int64_t sequence) { state_->end(state_->index(sequence)); }

void Batch::generate(std::int64_t count, const std::function<bool(std::int64_t, std::int32_t)>& on_token) {
    for (std::int64_t round = 0; round < count; ++round) {
        const std::vector<std::optional<std::int32_t>> drawn = next();
        bool any = false;
        for (std::int64_t i = 0; i < std::ssize(drawn); ++i) {
            const std::optional<std::int32_t>& token = drawn[static_cast<std::size_t>(i)];
            any = any || token;
            if (token && on_token && !on_token(i, *token)) end(i);
        }
        if (!any) return;
    }
}

const std::vector<std::int32_t>& Batch::tokens(std::int64_t sequence) const { return state_->at(sequence).tokens; }
std::int64_t Batch::context() const { return state_->context; }
bool Batch::context_full(std::int64_t sequence) const { return state_->at(sequence).size() >= state_->context; }
bool Batch::ended(std::int64_t sequence) const { return state_->at(sequence).ended || context_full(sequence); }

const std::vector<float>& Batch::logits(std::int64_t sequence) const { return state_->at(sequence).logits; }
std::vector<float> Batch::hidden(std::int64_t sequence) const { return joined(state_->at(sequence).hidden); }
const std::vector<float>& Batch::last_hidden(std::int64_t sequence) const {
    return state_->at(sequence).end_of_stream();
}
const std::vector<float>& Batch::pooled(std::int64_t sequence) const { return state_->at(sequence).pooled; }
const std::vector<float>& Batch::relation(std::int64_t sequence) const { return state_->at(sequence).relation; }
std::vector<float> Batch::router_logits(std::int64_t sequence) const { return joined(state_->at(sequence).router); }

const Model& Batch::model() const { return state_->model; }
const SessionStats& Batch::stats() const { return state_->stats; }
Session::Memory Batch::memory() const { return state_->memory(); }
std::vector<DispatchTiming> Batch::take_timings() { return std::exchange(state_->timings, {}); }

}  // namespace vantage
