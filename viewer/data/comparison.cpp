#include "viewer/data/comparison.h"
#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/session/model_access.h"

#include <algorithm>

#include "runtime/models/config.h"

namespace vantage::view {

namespace {

bool at_rest(const Version& version) {
    return version.activity == Activity::ended || version.activity == Activity::failed ||
           version.activity == Activity::paused;
}

}  // namespace

bool same_vocabulary(const Model& a, const Model& b) {
    if (a.info().vocab != b.info().vocab || a.has_tokenizer() != b.has_tokenizer()) return false;
    if (!a.has_tokenizer()) return true;
    const auto count = static_cast<std::int32_t>(a.info().vocab);
    for (std::int32_t id = 0; id < count; ++id)
        if (a.tokenizer().token_bytes(id) != b.tokenizer().token_bytes(id)) return false;
    return true;
}

RunComparison::RunComparison(LiveModel& a, LiveModel& b)
    : a_(a), b_(b), same_vocabulary_(same_vocabulary(a.model(), b.model())), run_b_(b.version().run) {}

void RunComparison::start_b(LivePrompt prompt, std::int64_t tokens) {
    b_.start(std::move(prompt), sampling_, tokens);
    ++run_b_;
    started_ = true;
}

void RunComparison::start(const ViewState& state) {
    const std::optional<std::string> prompt = state.compared ? state.compared->prompt : std::nullopt;
    // what another attention does to a text is seen in a text of its own; ids can only be read from A
    const bool other_attention = state.compared && state.compared->variant && b_.model().has_tokenizer();
    own_text_ = prompt || !same_vocabulary_ || other_attention;
    sampling_ = state.sampling;
    if (!own_text_) return;  // what to read is known as soon as A has read it
    start_b({.text = prompt.value_or(state.prompt)}, state.max_tokens);
}

// A has its first rows some time after its run began.
void RunComparison::teach(const RunNow& a) {
    if (a.tokens.run != a.version.run) return;
    const bool is_encoder_decoder = config_of(b_.model()).kind == ModelKind::encoder_decoder;
    const auto ids = [&](std::int64_t from) {
        return std::vector<std::int32_t>(a.tokens.ids.begin() + from, a.tokens.ids.begin() + a.version.rows);
    };
    if (taught_run_ != a.version.run) {
        if (is_encoder_decoder ? a.tokens.source_ids.empty() : a.version.rows == 0) return;
        taught_run_ = a.version.run;
        taught_ = is_encoder_decoder ? a.version.prompt_tokens : a.version.rows;
        try {
            start_b({.ids = is_encoder_decoder ? a.tokens.source_ids : ids(0)}, 0);
        } catch (const Error& error) {  // B cannot read A's text: it stays empty
            if (error.kind() != ErrorKind::usage) throw;
        }
    }
    if (a.version.rows <= taught_) return;
    b_.read_on(ids(taught_));
    taught_ = a.version.rows;
}

// Ids where they mean the same, else the texts, each of which gets a number.
std::vector<std::int64_t> RunComparison::numbers_of(const std::vector<std::int32_t>& ids,
                                                    const std::vector<std::string>& texts, std::int64_t count) {
    if (same_vocabulary_) return {ids.begin(), ids.begin() + count};
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < count; ++i)
        numbers.push_back(numbers_.try_emplace(at(texts, i), static_cast<std::int64_t>(numbers_.size())).first->second);
    return numbers;
}

bool RunComparison::align(const RunNow& a, const RunNow& b) {
    const auto known = [](const RunNow& now, std::int64_t rows) {
        return now.tokens.run == now.version.run ? rows : 0;
    };
    const Seen seen{.run_a = a.version.run,
                    .run_b = b.version.run,
                    .rows_a = known(a, a.version.rows),
                    .rows_b = known(b, b.version.rows),
                    .source_a = known(a, a.version.source_rows),
                    .source_b = known(b, b.version.source_rows),
                    .complete = at_rest(a.version) && at_rest(b.version)};
    if (seen == aligned_) return false;
    if (seen.run_a != aligned_.run_a || seen.run_b != aligned_.run_b) own_.clear(), source_.clear();
    aligned_ = seen;
    const auto numbers = [&](const RunNow& now, std::int64_t rows) {
        return numbers_of(now.tokens.ids, now.tokens.texts, rows);
    };
    const auto sources = [&](const RunNow& now, std::int64_t rows) {
        return numbers_of(now.tokens.source_ids, now.tokens.source_texts, rows);
    };
    const std::vector<std::int64_t> tokens_a = numbers(a, seen.rows_a), tokens_b = numbers(b, seen.rows_b),
                                    source_a = sources(a, seen.source_a), source_b = sources(b, seen.source_b);
    const bool own =
        own_.update({tokens_a, a.version.prompt_tokens}, {tokens_b, b.version.prompt_tokens}, seen.complete);
    const bool source = source_.update({source_a}, {source_b}, true);
    rows_ = own_.now().count(), source_rows_ = source_.now().count();
    return own || source;
}

void RunComparison::update(const RunNow& a, const RunNow& b) {
    const bool begun = started_ && b.version.run == run_b_;
    bool changed = false;
    if (!own_text_) {
        teach(a);
        const bool follows = begun && a.version.run == taught_run_;
        const auto both = [&](std::int64_t rows_a, std::int64_t rows_b) {
            return follows ? std::min(rows_a, rows_b) : 0;
        };
        rows_ = both(a.version.rows, b.version.rows);
        source_rows_ = both(a.version.source_rows, b.version.source_rows);
        changed = !own_.now().a.plain() || !source_.now().a.plain();
        own_.clear(), source_.clear();
    } else if (begun) {
        changed = align(a, b) || slots_a_.run != a.version.run || slots_b_.run != b.version.run;
    } else {
        rows_ = source_rows_ = 0;
    }
    if (!changed) return;
    slots_a_ = {own().a, source().a, a.version.run, slots_a_.number + 1};
    slots_b_ = {own().b, source().b, b.version.run, slots_a_.number};
}

bool RunComparison::settled(const Version& a, const Version& b) const {
    if (!at_rest(a) || !at_rest(b) || !started_ || b.run != run_b_) return b.activity == Activity::failed;
    return own_text_ || (taught_run_ == a.run && b.rows >= a.rows && b.source_rows >= a.source_rows);
}

}  // namespace vantage::view
