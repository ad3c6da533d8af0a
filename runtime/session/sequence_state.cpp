#include "runtime/session/sequence_state.h"

#include <algorithm>
#include <utility>

#include "shaders/params/kept_states.h"

namespace vantage::internal {

namespace {

void clear_all(std::vector<std::vector<float>>& parts) {
    for (std::vector<float>& part : parts) part.clear();
}

}  // namespace

SequenceState::SequenceState(const ModelConfig& config)
    : vocab_(config.vocab),
      width_(config.width),
      experts_(config.experts),
      in_one_run_(config.kind == ModelKind::encoder) {
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
    processed = lost = counted = 0;
    prompt = size();
    ++forgotten;
}

void SequenceState::forget_from(std::int64_t count) {
    if (std::max(processed, lost) <= count) return;
    go_back(count);
    ++forgotten;
}

void SequenceState::go_back(std::int64_t count) {
    processed = std::min(processed, count);
    lost = std::min(lost, count);
    forget_chunks(std::max(processed, lost));
    trim_results();
}

void SequenceState::trim_results() {
    const auto keep = [&](std::vector<float>& rows, std::int64_t width) {
        if (!rows.empty()) rows.resize(static_cast<std::size_t>(processed * width));
    };
    keep(results.logits, vocab_);
    for (std::vector<float>& stream : results.hidden) keep(stream, width_);
    for (std::vector<float>& stream : results.router) keep(stream, experts_);
}

void SequenceState::forget_source_results() { clear_all(results.source_hidden); }

void SequenceState::forget_chunks(std::int64_t from) {
    while (!chunks_.empty() && chunks_.back().first >= from) chunks_.pop_back();
    if (!chunks_.empty()) chunks_.back().count = std::min(chunks_.back().count, from - chunks_.back().first);
}

void SequenceState::note_run(std::int64_t count, std::int64_t rows, bool draw) {
    const std::int64_t first = std::exchange(processed, processed + count);
    note_reached(processed);
    if (processed <= lost) return;  // it is known how it ran first
    redraw_from = draw ? first : processed - 1;
    forget_chunks(first);
    if (rows > 1 && !in_one_run_) chunks_.push_back({first, count, rows});
}

void SequenceState::note_reached(std::int64_t reached) {
    states_to_ = std::max(states_to_, reached);
    states_from_ = std::max(states_from_, states_to_ - STATE_RECENT + 1);
}

void SequenceState::begin_at_state(std::int64_t reached) {
    note_reached(reached);
    if (processed < states_from_ || processed > states_to_) {
        const std::int64_t regular = processed - processed % STATE_EVERY;
        if (regular < processed) lost = std::max(lost, processed);
        processed = states_from_ = regular;
        trim_results();
    }
    states_to_ = processed;
}

void SequenceState::lose() {
    const std::int64_t had_run = std::max(processed, lost), given = prompt, in_statistics = counted;
    forget_source_results();
    forget_results();
    prompt = given, counted = in_statistics;
    source_again = !source.empty() && !source_waits;
    source_waits = !source.empty();
    if (!in_one_run_) lost = had_run;
}

ChunkRun SequenceState::next_lost() const {
    const auto next =
        std::ranges::find_if(chunks_, [this](const ChunkRun& chunk) { return chunk.first + chunk.count > processed; });
    if (next == chunks_.end() || next->first >= lost)
        return {processed, std::max<std::int64_t>(lost - processed, 0), 1};
    if (next->first > processed) return {processed, next->first - processed, 1};
    return {processed, std::min(next->first + next->count, lost) - processed, next->rows};
}

void SequenceState::restart() {
    tokens.clear();
    types.clear();
    source.clear();
    grammar_from = 0;
    ended = dead_end = source_waits = source_again = false;
    forget_source_results();
    forget_results();
}

void SequenceState::truncate(std::int64_t count) {
    if (count < size()) {
        redraw_from = std::max<std::int64_t>(count - 1, 0);
        prompt = count;
    }
    tokens.resize(static_cast<std::size_t>(count));
    types.resize(tokens.size());
    go_back(count);
    counted = std::min(counted, count);
    grammar_from = std::min(grammar_from, count);
    ++forgotten;
    ended = dead_end = false;
}

void SequenceState::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> more_types) {
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    types.insert(types.end(), more_types.begin(), more_types.end());
    types.resize(tokens.size());
    prompt = grammar_from = size();
    ended = dead_end = false;
}

}  // namespace vantage::internal
