#include "vantage/batch.h"

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_core.h"

namespace vantage {

Batch::Batch(const Model& model, std::int64_t sequences, const SessionOptions& options) {
    if (sequences < 1 || sequences > 65535)
        throw usage_error("a batch of {} sequences was asked for; it has 1 to 65535", sequences);
    if (config_of(model).is_vision())
        throw usage_error(described(model.info()) +
                          " takes images: a batch takes texts; a session takes images, one by one");
    if (options.record_attention.every || !options.record_attention.layers.empty())
        throw usage_error("a batch records no attention; a session does");
    core_ = std::make_shared<SessionCore>(model, options, sequences, false);
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
    core->runs.reset_stats();
}
void Batch::restart(const Sampling& sampling) {
    const auto core = use();
    for (const auto& one : sequences_) one->restart(sampling);
    core->runs.reset_stats();
}
void Batch::run() { use()->run(); }
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

}  // namespace vantage
