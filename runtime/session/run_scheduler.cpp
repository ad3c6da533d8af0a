#include "runtime/session/run_scheduler.h"

#include <algorithm>
#include <bit>

#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/queue.h"
#include "runtime/session/model_access.h"

namespace vantage {

namespace {

constexpr std::int64_t max_rows = 16384;  // of a run of several sequences
constexpr int run_ahead = 2;              // generated tokens submitted before the first of them is read
constexpr int both_segments[] = {model_names::body, model_names::head};

/// Adds the seconds of a scope to a sum.
class Stopwatch {
public:
    explicit Stopwatch(double& sum) : sum_(sum) {}
    ~Stopwatch() { sum_ += seconds_now() - begin_; }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& sum_;
    double begin_ = seconds_now();
};

}  // namespace

std::int64_t lanes_filled_by(std::int64_t wanted, std::int64_t sequences) {
    if (wanted >= sequences) return sequences;
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)));
}

std::int64_t lanes_holding(std::int64_t wanted, std::int64_t sequences) {
    return std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted))), sequences);
}

std::vector<std::size_t> slots_of_lanes(const std::vector<bool>& live, std::int64_t lanes) {
    std::vector<std::size_t> slots;
    for (const bool wanted : {true, false})
        for (std::size_t slot = 0; slot < live.size() && std::ssize(slots) < lanes; ++slot)
            if (live[slot] == wanted) slots.push_back(slot);
    return slots;
}

PromptRun next_prompt_run(std::span<const std::int64_t> waiting,
                          const std::function<std::int64_t(std::int64_t)>& rows_for) {
    PromptRun run{.rows = rows_for(std::ranges::max(waiting)), .slots = {}};
    for (std::size_t slot = 0; slot < waiting.size(); ++slot)
        if (waiting[slot] > 0 && rows_for(waiting[slot]) == run.rows) run.slots.push_back(slot);
    const std::int64_t most = std::max<std::int64_t>(max_rows / run.rows, 1),
                       lanes = std::min(lanes_filled_by(std::ssize(run.slots), std::ssize(waiting)),
                                        lanes_filled_by(most, std::ssize(waiting)));
    run.slots.resize(static_cast<std::size_t>(lanes));
    return run;
}

RunScheduler::RunScheduler(const Model& model, const SessionOptions& options, std::vector<SequenceState>& sequences,
                           DeviceStates& states, PlanCache& plans, std::int64_t context)
    : config_(config_of(model)),
      model_(model),
      options_(options),
      sequences_(sequences),
      states_(states),
      plans_(plans),
      context_(context) {}

std::int64_t RunScheduler::encoder_rows_for(std::int64_t tokens) {
    std::int64_t size = chunk_sizes[1];
    while (size < tokens) size *= 2;
    return size;
}

// The smallest size that holds all that waits, unless most of it would be padding. An encoder's first tokens see the
// last: it has one run.
std::int64_t RunScheduler::rows_for(std::int64_t waiting) const {
    if (config_.is_vision()) return context_;
    if (config_.kind == ModelKind::encoder) return encoder_rows_for(waiting);
    std::int64_t best = 1;
    for (const std::int64_t size : chunk_sizes) {
        if (size > options_.largest_chunk) break;
        if (size >= waiting) return size < 2 * waiting || best == 1 ? size : best;
        best = size;
    }
    return best;
}

void RunScheduler::settle() const { gpu::wait(states_.device(), states_.device().queue.submitted); }

void RunScheduler::stop() {
    settle();
    in_flight_.clear();
    drawing_ = false;
}

// Which part of the longest sequence's cache holds keys when `more` tokens have run.
double RunScheduler::filled(std::int64_t more) const {
    std::int64_t most = 0;
    for (const SequenceState& s : sequences_) most = std::max(most, s.processed);
    return std::min(1.0, static_cast<double>(most + more) / static_cast<double>(context_));
}

// Tokens to run; none of a sequence that draws no token, when tokens are drawn.
std::int64_t RunScheduler::waiting(const SequenceState& s, bool draw) const {
    return draw && !can_continue(s) ? 0 : s.waiting();
}

// What runs reads the map, so another one has to wait for it.
void RunScheduler::map_lanes(std::vector<std::size_t> slots) {
    if (slots == lanes_) return;
    settle();
    states_.map_lanes(StepOf::own, slots);
    lanes_ = std::move(slots);
}

void RunScheduler::write_states(bool draw) {
    stop();
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
        const SequenceState& s = sequences_[slot];
        const std::int64_t left = waiting(s, draw);
        states_.write_step(slot, s, left, draw && left == 0);
        states_.write_tokens(slot, s);
    }
    if (config_.is_vision()) states_.write_pixels(pixels);
}

void RunScheduler::note_timings(const Plan& plan) {
    if (!options_.profile) return;
    const std::vector<DispatchTiming> some = plan.timings();
    timings.insert(timings.end(), some.begin(), some.end());
}

Plan& RunScheduler::timed_plan(const PlanKey& key) {
    const Stopwatch compiling(stats.compile_seconds);
    return plans_.get(key);
}

// Reads what a run left of each sequence: `rows` by lane.
void RunScheduler::collect(const Plan& plan, const PromptRun& run, std::span<const std::int64_t> rows) {
    const TraceSpan span("read results");
    const auto append = [&](std::vector<float>& to, const std::string& name, std::int64_t first, std::int64_t count) {
        if (plan.graph().outputs().count(name) == 0) return;
        const std::vector<float> some = plan.read_rows(name, count, first);
        to.insert(to.end(), some.begin(), some.end());
    };
    const bool labels = config_.head == Head::classification;
    for (std::size_t i = 0; i < run.slots.size(); ++i) {
        SequenceState::Results& to = sequences_[run.slots[i]].results;
        const auto lane = static_cast<std::int64_t>(i), first = lane * run.rows, count = rows[i];
        append(to.logits, model_names::logits, labels ? lane : first, labels ? 1 : count);
        append(to.pooled, model_names::pooled, lane, 1);
        append(to.relation, model_names::relation, lane, 1);
        append(to.last_hidden, model_names::last_hidden, first, count);
        for (std::size_t layer = 0; layer < to.hidden.size(); ++layer)
            append(to.hidden[layer], model_names::hidden(static_cast<std::int64_t>(layer)), first, count);
        for (std::size_t layer = 0; layer < to.router.size(); ++layer)
            append(to.router[layer], model_names::router(static_cast<std::int64_t>(layer)), first, count);
    }
}

// One run of a prompt. A sequence whose last token is in it draws its next one with `draw`.
void RunScheduler::run_prompt(const PromptRun& run, bool draw) {
    Plan& plan = plans_.get({.lanes = std::ssize(run.slots), .rows = run.rows});
    map_lanes(run.slots);
    const bool look = options_.inspect || config_.kind == ModelKind::encoder;
    std::vector<std::int64_t> rows;  // by lane
    bool last = false;
    for (const std::size_t slot : run.slots) {
        const std::int64_t left = sequences_[slot].waiting();
        rows.push_back(std::min(left, run.rows));
        last = last || left <= run.rows;
    }
    const bool head = look || (draw && last);
    const std::uint64_t ticket =
        plan.submit(std::span(both_segments).first(head ? 2 : 1), filled(std::ranges::max(rows)));
    in_flight_.assign(1, ticket);
    if (look || options_.profile) {
        plan.wait(ticket);
        note_timings(plan);
        if (look) collect(plan, run, rows);
    }
    // not when Ctrl-C came before all of it was submitted and collected
    for (std::size_t i = 0; i < rows.size(); ++i) sequences_[run.slots[i]].processed += rows[i];
    stats.prompt_rows += std::ssize(run.slots) * run.rows;
}

// Runs what waits, chunk by chunk; sequences draw their next token in their last chunk when asked to.
void RunScheduler::run_prompts(bool draw) {
    const auto rows = [&](std::int64_t waiting) { return rows_for(waiting); };
    std::vector<std::int64_t> left;
    for (const SequenceState& s : sequences_) left.push_back(waiting(s, draw));
    for (std::vector<std::int64_t> rest = left;
         std::ranges::max(rest) > 0;) {  // plans first: their time is not a run's
        throw_if_interrupted();
        const PromptRun run = next_prompt_run(rest, rows);
        timed_plan({.lanes = std::ssize(run.slots), .rows = run.rows});
        for (const std::size_t slot : run.slots) rest[slot] -= std::min(rest[slot], run.rows);
    }
    if (draw)
        timed_plan({.lanes = lanes_holding(std::ranges::count_if(left, [](auto n) { return n > 0; }),
                                           std::ssize(sequences_))});
    const Stopwatch running(stats.prompt_seconds);
    if (config_.kind != ModelKind::encoder_decoder)  // else the prompt is what the encoder has read
        for (const std::int64_t count : left) stats.prompt_tokens += count;
    write_states(draw);
    while (std::ranges::max(left) > 0) {
        throw_if_interrupted();
        const PromptRun run = next_prompt_run(left, rows);
        run_prompt(run, draw);
        for (const std::size_t slot : run.slots) left[slot] -= std::min(left[slot], run.rows);
    }
    if (!in_flight_.empty()) gpu::wait(states_.device(), in_flight_.back());
    if (!draw) in_flight_.clear();
    drawing_ = draw;
}

void RunScheduler::run_tokens() {
    bool waits = false;
    for (SequenceState& s : sequences_) {
        if (s.waiting() == 0) continue;
        waits = true;
        if (config_.kind == ModelKind::encoder) s.forget_results();
    }
    if (waits) run_prompts(false);
}

void RunScheduler::submit_draw() {
    Plan& plan = plans_.get({.lanes = std::ssize(lanes_)});
    in_flight_.push_back(plan.submit(both_segments, filled(static_cast<std::int64_t>(1 + in_flight_.size()))));
    if (!options_.profile) return;
    plan.wait(in_flight_.back());
    note_timings(plan);
}

// The token that the oldest draw made for a sequence; nothing when the device had ended it before.
std::optional<std::int32_t> RunScheduler::read_draw(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    if (!can_continue(s)) return std::nullopt;
    if (states_.known_tokens(slot) <= s.tokens.size()) {
        s.ended = true;
        return std::nullopt;
    }
    const std::int32_t token = states_.token(slot, s.tokens.size());
    s.tokens.push_back(token);
    s.types.push_back(0);
    s.processed = s.size() - 1;
    ++stats.generated_tokens;
    if (!s.sampling.ignore_end && std::ranges::count(config_.end_tokens, token) > 0) end(slot);
    return token;
}

const std::vector<std::optional<std::int32_t>>& RunScheduler::next() {
    drawn_.assign(sequences_.size(), std::nullopt);
    if (std::ranges::none_of(sequences_, [&](const SequenceState& s) { return can_continue(s); })) return drawn_;
    run_sources();
    if (!drawing_) begin_draws();
    try {
        draw_all();
    } catch (...) {  // what runs is not read any more: the next call begins after the tokens that are known
        drawing_ = false;
        throw;
    }
    return drawn_;
}

// Runs what waits, and draws after it. Tokens that were drawn and not read are forgotten.
void RunScheduler::begin_draws() {
    stop();
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
        SequenceState& s = sequences_[slot];
        if (can_continue(s) && s.waiting() == 0) --s.processed;  // all have run: the last one again, to draw
        states_.write_seen(slot, s);
        s.tokens.reserve(static_cast<std::size_t>(context_));  // no token that is drawn allocates
        s.types.reserve(s.tokens.capacity());
    }
    run_prompts(true);
}

// Lanes for the sequences that can continue. They stay as they are while the live ones fill more than half of them.
void RunScheduler::choose_draw_lanes() {
    std::int64_t live = 0, mapped = 0;
    for (const SequenceState& s : sequences_) live += can_continue(s) ? 1 : 0;
    for (const std::size_t slot : lanes_) mapped += can_continue(sequences_[slot]) ? 1 : 0;
    const std::int64_t lanes = lanes_holding(live, std::ssize(sequences_));
    if (mapped == live && lanes == std::ssize(lanes_)) return;
    std::vector<bool> wanted;
    for (const SequenceState& s : sequences_) wanted.push_back(can_continue(s));
    timed_plan({.lanes = lanes});
    map_lanes(slots_of_lanes(wanted, lanes));
}

void RunScheduler::draw_all() {
    const double begin = seconds_now(), waited = gpu::seconds_waited(), compiled = stats.compile_seconds;
    const auto has_room = [&](const SequenceState& s) {
        return can_continue(s) && s.size() + std::ssize(in_flight_) < context_;
    };
    choose_draw_lanes();
    while (std::ssize(in_flight_) < run_ahead && std::ranges::any_of(sequences_, has_room)) submit_draw();
    gpu::wait(states_.device(), in_flight_.front());
    in_flight_.erase(in_flight_.begin());
    const TraceSpan span("read tokens");
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) drawn_[slot] = read_draw(slot);
    const double seconds = seconds_now() - begin - (stats.compile_seconds - compiled);
    stats.generate_seconds += seconds;
    stats.host_seconds += seconds - (gpu::seconds_waited() - waited);
}

void RunScheduler::end(std::size_t slot) {
    sequences_[slot].ended = true;
    states_.end(slot);
}

// Runs all tokens but the last, and the last by a plan that has its logits as an output.
std::vector<float> RunScheduler::next_logits(std::size_t slot) {
    run_sources();
    SequenceState& s = sequences_[slot];
    stop();
    if (options_.inspect) {
        run_tokens();
        const std::vector<float>& all = s.results.logits;
        return {all.end() - config_.vocab, all.end()};
    }
    const std::int32_t last = s.tokens.back(), type = s.types.back();
    s.tokens.pop_back(), s.types.pop_back();
    s.processed = std::min(s.processed, s.size());
    try {
        run_tokens();
    } catch (...) {
        s.tokens.push_back(last), s.types.push_back(type);
        throw;
    }
    s.tokens.push_back(last), s.types.push_back(type);
    const PlanKey key{.logits = true};
    Plan& plan = timed_plan(key);
    write_states(false);
    map_lanes({slot});
    plan.wait(plan.submit(both_segments, filled(1)));
    note_timings(plan);
    s.processed = s.size();
    return plan.read_rows(model_names::logits, 1);
}

void RunScheduler::run_source(const PromptRun& run) {
    Plan& plan = timed_plan({.lanes = std::ssize(run.slots), .rows = run.rows, .encoder = true});
    const Stopwatch running(stats.prompt_seconds);
    stop();
    for (const std::size_t slot : run.slots) states_.write_source(slot, sequences_[slot]);
    states_.map_lanes(StepOf::source, run.slots);
    std::int64_t longest = 0;
    for (const std::size_t slot : run.slots) longest = std::max(longest, std::ssize(sequences_[slot].source));
    plan.wait(plan.submit(both_segments, static_cast<double>(longest) / static_cast<double>(context_)));
    note_timings(plan);
    for (std::size_t i = 0; i < run.slots.size(); ++i) {
        SequenceState& s = sequences_[run.slots[i]];
        s.source_waits = false;
        for (std::size_t layer = 0; layer < s.results.source_hidden.size(); ++layer)
            if (const std::string name = model_names::hidden(static_cast<std::int64_t>(layer));
                plan.graph().outputs().count(name) != 0)
                s.results.source_hidden[layer] =
                    plan.read_rows(name, std::ssize(s.source), static_cast<std::int64_t>(i) * run.rows);
        stats.prompt_tokens += std::ssize(s.source);
    }
    stats.prompt_rows += std::ssize(run.slots) * run.rows;
}

// In one run each: an encoder's first tokens see the last.
void RunScheduler::run_sources() {
    if (std::ranges::none_of(sequences_, &SequenceState::source_waits)) return;  // before anything is allocated
    std::vector<std::int64_t> left;
    for (const SequenceState& s : sequences_) left.push_back(s.source_waits ? std::ssize(s.source) : 0);
    while (std::ranges::max(left) > 0) {
        throw_if_interrupted();
        const PromptRun run = next_prompt_run(left, encoder_rows_for);
        run_source(run);
        for (const std::size_t slot : run.slots) left[slot] = 0;
    }
}

}  // namespace vantage
