#include "runtime/session/sequence_state.h"

#include <algorithm>

namespace vantage::internal {

namespace {

void clear_all(std::vector<std::vector<float>>& parts) {
    for (std::vector<float>& part : parts) part.clear();
}

}  // namespace

SequenceState::SequenceState(const ModelConfig& config)
    : vocab_(config.vocab), width_(config.width), experts_(config.experts) {
    results.hidden.resize(static_cast<std::size_t>(config.layers + 1));
    if (config.kind == ModelKind::encoder_decoder)
        results.source_hidden.resize(static_cast<std::size_t>(config.encoder.layers + 1));
    if (config.experts > 0) results.router.resize(static_cast<std::size_t>(config.layers));
}

void SequenceState::forget_results() {
    for (std::vector<float>* one : {&results.logits, &results.pooled, &results.relation, &results.last_hidden})
        one->clear();
    clear_all(results.hidden);
    clear_all(results.router);
    processed = 0;
    ++forgotten;
}

void SequenceState::forget_source_results() { clear_all(results.source_hidden); }

void SequenceState::restart() {
    tokens.clear();
    types.clear();
    source.clear();
    ended = source_waits = false;
    forget_source_results();
    forget_results();
}

void SequenceState::truncate(std::int64_t count) {
    if (count < size()) redraw_from = std::max<std::int64_t>(count - 1, 0);
    tokens.resize(static_cast<std::size_t>(count));
    types.resize(tokens.size());
    processed = std::min(processed, count);
    ++forgotten;
    ended = false;
    const auto keep = [&](std::vector<float>& rows, std::int64_t width) {
        if (!rows.empty()) rows.resize(static_cast<std::size_t>(processed * width));
    };
    keep(results.logits, vocab_);
    for (std::vector<float>& stream : results.hidden) keep(stream, width_);
    for (std::vector<float>& stream : results.router) keep(stream, experts_);
}

void SequenceState::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> more_types) {
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    types.insert(types.end(), more_types.begin(), more_types.end());
    types.resize(tokens.size());
    ended = false;
}

}  // namespace vantage::internal
