// What a caller does with one sequence, and what it reads of its results.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/session_core.h"
#include "vantage/session.h"

namespace vantage {

namespace {

/// [rows, columns]; empty without values.
Array table(const std::vector<float>& values, std::int64_t columns) {
    if (values.empty()) return {};
    return {Shape{std::ssize(values) / columns, columns}, values};
}

/// [parts, rows, columns]; empty without values.
Array stack(const std::vector<std::vector<float>>& parts, std::int64_t columns) {
    const auto empty = std::ranges::count_if(parts, [](const std::vector<float>& part) { return part.empty(); });
    // recurrent models may have embeddings of another width, and not all layers of a hybrid one have a router
    const std::int64_t count = std::ssize(parts) - empty;
    if (count == 0) return {};
    std::vector<float> all;
    for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
    const std::int64_t rows = std::ssize(all) / count / columns;
    return {Shape{count, rows, columns}, std::move(all)};
}

Array row(const std::vector<float>& values) {
    return values.empty() ? Array() : Array(Shape{std::ssize(values)}, values);
}

void require_inspect(const SessionUse& core, const char* what) {
    if (!core->options.inspect)
        throw usage_error(std::string(what) + ": this session does not keep them; set SessionOptions::inspect");
}

}  // namespace

SessionUse Sequence::use() const { return SessionUse(core_); }

void Sequence::restart() {
    const auto core = use();
    core->restart(index_, core->sequences[index_].sampling);
}
void Sequence::restart(const Sampling& sampling) { use()->restart(index_, sampling); }
void Sequence::set_sampling(const Sampling& sampling) { use()->set_sampling(index_, sampling); }
void Sequence::set_source(std::span<const std::int32_t> ids) {
    const auto core = use();
    core->set_source(index_, ids);
    if (core->alone) core->runs.run_sources();
}
void Sequence::rewind(std::int64_t count) { use()->rewind(index_, count); }
void Sequence::end() { use()->runs.end(index_); }

void Sequence::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    use()->append(index_, ids, types);
}

void Sequence::append(std::string_view text) {
    const auto core = use();
    const bool first = core->sequences[index_].tokens.empty();
    core->append(index_, encode_for(core->context, core->model.tokenizer(), text, first).ids, {});
}

std::string Sequence::text() const {
    const auto core = use();
    return core->model.tokenizer().decode(core->sequences[index_].tokens, true);
}

const std::vector<std::int32_t>& Sequence::tokens() const { return use()->sequences[index_].tokens; }
const std::vector<std::int32_t>& Sequence::source_tokens() const { return use()->sequences[index_].source; }
std::int64_t Sequence::processed() const { return use()->sequences[index_].processed; }
std::uint64_t Sequence::forgotten() const { return use()->sequences[index_].forgotten; }
std::int64_t Sequence::context() const { return required(core_).context; }
const Model& Sequence::model() const { return required(core_).model; }

bool Sequence::context_full() const {
    const auto core = use();
    return core->sequences[index_].size() >= core->context;
}

bool Sequence::ended() const {
    const auto core = use();
    return core->sequences[index_].ended || context_full();
}

bool Sequence::dead_end() const {
    const auto core = use();
    const SequenceState& s = core->sequences[index_];
    return s.ended && s.dead_end;
}

Array Sequence::next_logits() { return row(use()->next_logits(index_)); }

std::vector<TokenProbability> Sequence::top(std::int64_t n) {
    const Array logits = next_logits();
    if (n < 0) throw usage_error("top: a number of tokens must be at least 0");
    std::vector<std::int32_t> order(logits.values().size());
    std::iota(order.begin(), order.end(), 0);
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(n, std::ssize(order)));
    const auto logit = [&](std::int32_t id) { return at(logits.values(), id); };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](std::int32_t a, std::int32_t b) {
        return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
    });
    const auto peak = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - peak);
    std::vector<TokenProbability> best;
    for (auto id = order.begin(); id != order.begin() + count; ++id)
        best.push_back({*id, std::exp(static_cast<double>(logit(*id)) - peak) / sum});
    return best;
}

Array Sequence::logits() const {
    const auto core = use();
    if (!core->is_encoder()) require_inspect(core, "logits");
    const std::vector<float>& logits = core->sequences[index_].results.logits;
    return core->config.head == Head::classification ? row(logits) : table(logits, core->config.logit_columns());
}

Array Sequence::hidden() const {
    const auto core = use();
    require_inspect(core, "hidden states");
    return stack(core->sequences[index_].results.hidden, core->config.width);
}

Array Sequence::last_hidden() const {
    const auto core = use();
    if (!core->is_encoder()) require_inspect(core, "hidden states");
    const SequenceState::Results& results = core->sequences[index_].results;
    return table(results.last_hidden.empty() ? results.hidden.back() : results.last_hidden, core->config.width);
}

Array Sequence::encoder_hidden() const {
    const auto core = use();
    if (core->is_encoder_decoder()) require_inspect(core, "hidden states");
    return stack(core->sequences[index_].results.source_hidden, core->config.encoder_width());
}

Array Sequence::encoder_last_hidden() const {
    const auto core = use();
    const std::vector<std::vector<float>>& hidden = core->sequences[index_].results.source_hidden;
    return hidden.empty() ? Array() : table(hidden.back(), core->config.encoder_width());
}

Array Sequence::router_logits() const {
    const auto core = use();
    if (core->config.experts > 0) require_inspect(core, "logits of routers");
    return stack(core->sequences[index_].results.router, core->config.experts);
}

Array Sequence::pooled() const { return row(use()->sequences[index_].results.pooled); }
Array Sequence::relation() const { return row(use()->sequences[index_].results.relation); }

}  // namespace vantage
