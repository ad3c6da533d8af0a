#include "runtime/session/run_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/queue.h"
#include "runtime/models/architecture.h"
#include "runtime/session/model_access.h"
#include "runtime/session/replay.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t stable_chunk = 128;
constexpr int max_ahead = 2;  // generated tokens submitted before the first of them is read
constexpr int both_segments[] = {model_names::body, model_names::head};

/// Adds the seconds of a scope to a sum.
class Stopwatch : NotCopied {
public:
    explicit Stopwatch(double& sum) : sum_(sum) {}
    ~Stopwatch() { sum_ += seconds_now() - begin_; }

private:
    double& sum_;
    double begin_ = seconds_now();
};

std::int64_t lane_of(const PromptRun& run, std::size_t slot) {
    return std::ranges::find(run.lanes, slot) - run.lanes.begin();
}

std::int64_t encoder_rows_for(std::int64_t tokens) {
    std::int64_t size = chunk_sizes[1];
    while (size < tokens && size <= std::numeric_limits<std::int64_t>::max() / 2) size *= 2;
    return size;
}

std::vector<std::size_t> first_slots(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

}  // namespace

RunScheduler::RunScheduler(const Model& model, const SessionOptions& options, std::vector<SequenceState>& sequences,
                           DeviceStates& states, PlanCache& plans, std::int64_t context)
    : config_(config_of(model)),
      options_(options),
      sequences_(sequences),
      states_(states),
      plans_(plans),
      context_(context),
      held_(sequences.size()),
      on_device_(sequences.size()),
      known_(sequences.size()),
      all_slots_(first_slots(sequences.size())),
      none_(sequences.size()) {
    drawing_ = all_slots_;
    has_lane_.assign(sequences.size(), true);
}

std::int64_t RunScheduler::source_rows_for(std::int64_t tokens) const {
    return config_.sees() ? config_.image.places() : encoder_rows_for(tokens);
}

// The smallest size that holds all that waits, unless most of it would be padding. The runs of a stable session begin
// at multiples of a chunk, so their sizes depend on the prompt's length alone. An encoder's first tokens see the last:
// it has one run.
std::int64_t RunScheduler::rows_for(std::int64_t waiting) const {
    if (config_.is_vision()) return context_;
    if (config_.kind == ModelKind::encoder) return encoder_rows_for(waiting);
    if (config_.row_by_row) return 1;
    const std::int64_t largest =
        options_.is_stable() ? std::min(options_.largest_chunk, stable_chunk) : options_.largest_chunk;
    std::int64_t best = 1;
    for (const std::int64_t size : chunk_sizes) {
        if (size > largest) break;
        if (size >= waiting) return size < 2 * waiting || best == 1 ? size : best;
        best = size;
    }
    return best;
}

// Of a stable session one for a run of a prompt, and as many as there are for draws. With fewest_lanes also one for a
// prompt that waits alone on a CPU device, where an idle lane costs as much as another.
std::int64_t RunScheduler::lanes_for(std::int64_t rows, std::int64_t wanted) const {
    const bool alone = options_.fewest_lanes && wanted == 1 && states_.device().caps().is_cpu();
    return rows > 1 && (options_.is_stable() || alone) ? 1 : decoder_lanes(rows, all());
}

// Drawn tokens of a stable session never run as a prompt does.
RunShapes RunScheduler::shapes() const {
    const bool encoder = config_.kind == ModelKind::encoder;
    const auto rows = [this, encoder](std::size_t slot, std::int64_t waiting) {
        const SequenceState& s = sequences_[slot];
        return options_.is_stable() && !encoder && s.processed >= s.prompt ? 1 : rows_for(waiting);
    };
    const auto lanes = [this, encoder](std::int64_t each, std::int64_t wanted) {
        return encoder && !options_.is_stable() ? encoder_lanes(each, wanted, all()) : lanes_for(each, wanted);
    };
    return {.rows = rows, .lanes = lanes};
}

// Where the chunk of a stable prompt begins that has this token. An encoder has no chunks.
std::int64_t RunScheduler::chunk_begin(std::int64_t token) const {
    return config_.kind == ModelKind::encoder ? token : token - token % rows_for(stable_chunk);
}

void RunScheduler::forget_unfinished(std::size_t slot, std::int64_t count) {
    SequenceState& s = sequences_[slot];
    if (options_.is_stable()) s.forget_from(chunk_begin(std::min(s.prompt, count)));
}

// How many tokens of a sequence wait; of a stable one also those of the prompt that share a chunk with them.
std::int64_t RunScheduler::take_waiting(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    if (options_.is_stable() && s.processed < s.prompt) s.go_back(chunk_begin(s.processed));
    if (config_.state_space) run_lost(std::span(&slot, 1));
    return s.waiting();
}

// The last `count` tokens that ran belong to a prompt: the statistics count those that have not been counted. An
// encoder–decoder's prompt is what the encoder has read.
void RunScheduler::count_prompt(SequenceState& s, std::int64_t count) {
    const std::int64_t first = std::max(s.processed - count, s.counted);
    s.counted = std::max(s.counted, s.processed);
    if (config_.kind != ModelKind::encoder_decoder) stats_.prompt_tokens += s.counted - first;
}

void RunScheduler::settle() { gpu::wait(states_.device(), last_); }

// Which part of the longest of these sequences' caches holds keys when `more` tokens have run.
double RunScheduler::filled(std::span<const std::size_t> slots, std::int64_t more) const {
    std::int64_t most = 0;
    for (const std::size_t slot : slots) most = std::max(most, sequences_[slot].processed);
    return std::min(1.0, static_cast<double>(most + more) / static_cast<double>(context_));
}

// What runs reads the map and the steps, so another one has to wait for it.
void RunScheduler::set_lanes(const std::vector<std::size_t>& lanes, const std::vector<bool>& held) {
    if (lanes == lanes_ && held == held_) return;
    settle();
    if (lanes != lanes_) states_.map_lanes(StepOf::own, lanes);
    lanes_ = lanes;
    for (std::size_t slot = 0; slot < held.size(); ++slot) {
        if (held[slot] && !held_[slot]) states_.hold(slot);
        if (!held[slot] && held_[slot]) states_.release(slot);
        held_[slot] = held[slot];
    }
}

// The fewest lanes that hold all that draw, where options_ allow it: a power of two from 4 on, so that there are few
// plans. As they are, while they do; allocates nothing then.
void RunScheduler::choose_drawing_lanes() {
    if (!options_.fewest_lanes) return;
    std::int64_t drawing = 0, placed = 0;
    for (const std::size_t slot : all_slots_) {
        if (!can_continue(sequences_[slot])) continue;
        ++drawing;
        placed += has_lane_[slot] ? 1 : 0;
    }
    const std::int64_t lanes = drawing_lanes(drawing, all());
    if (lanes == std::ssize(drawing_) && placed == drawing) return;
    drawing_.clear();
    has_lane_ = none_;
    const auto add = [&](bool draws) {
        for (const std::size_t slot : all_slots_)
            if (can_continue(sequences_[slot]) == draws && std::ssize(drawing_) < lanes) {
                drawing_.push_back(slot);
                has_lane_[slot] = true;
            }
    };
    add(true);
    add(false);
    settle();
    in_flight_.clear();
    set_lanes(drawing_, none_);
    note_known();
}

// The sequences that must not change in a prompt's run: those without rows in it. A run of one row each also draws the
// next token of the other sequences, but of those whose last token the host must see before.
std::vector<bool> RunScheduler::held_beside(const PromptRun& run, bool draw) const {
    std::vector<bool> held(sequences_.size(), true);
    if (draw && run.rows == 1)
        for (const std::size_t slot : all_slots_) held[slot] = waits_for_host(sequences_[slot]);
    for (const std::size_t slot : run.slots) held[slot] = false;
    return held;
}

// Those that have a token that the host must see before the next is drawn.
const std::vector<bool>& RunScheduler::held_for_host() {
    held_for_host_ = none_;
    for (const std::size_t slot : all_slots_)
        held_for_host_[slot] = has_unread(slot) && waits_for_host(sequences_[slot]);
    return held_for_host_;
}

void RunScheduler::write_slot(std::size_t slot, std::int64_t left, bool done) {
    states_.write_step(slot, sequences_[slot], left, done);
    states_.write_tokens(slot, sequences_[slot]);
    held_[slot] = false;
}

std::uint64_t RunScheduler::submit(Plan& plan, std::span<const int> segments, double filled) {
    try {
        return last_ = plan.submit(segments, filled);
    } catch (...) {
        last_ = states_.device().queue.submitted;  // a part of it may run
        throw;
    }
}

void RunScheduler::note_timings(const Plan& plan) {
    if (!options_.profile) return;
    const std::vector<DispatchTiming> some = plan.timings();
    timings_.insert(timings_.end(), some.begin(), some.end());
}

Plan& RunScheduler::timed_plan(const PlanKey& key) {
    const Stopwatch compiling(stats_.compile_seconds);
    return plans_.get(key);
}

void RunScheduler::compile_all() {
    for (std::int64_t drawing = options_.fewest_lanes ? 1 : all(); drawing < 2 * all(); drawing *= 2)
        timed_plan({.lanes = options_.fewest_lanes ? drawing_lanes(drawing, all()) : all()});
    const std::int64_t rows = rows_for(std::numeric_limits<std::int32_t>::max());
    for (const std::int64_t size : chunk_sizes)
        for (const std::int64_t wanted : {std::int64_t{1}, all()})
            if (size <= rows) timed_plan({.lanes = lanes_for(size, wanted), .rows = size});
}

// Before the first of them: the time of plans is not a run's.
void RunScheduler::compile_for(std::span<const PromptRun> runs) {
    for (const PromptRun& run : runs) {
        throw_if_interrupted();
        timed_plan({.lanes = std::ssize(run.lanes), .rows = run.rows});
    }
}

void RunScheduler::fail_not_finite(std::size_t slot, const std::string& what) const {
    const SequenceState& s = sequences_[slot];
    SessionOptions options = options_;
    options.rope_context = std::max(context_, options.rope_context);
    throw_not_finite(states_.model(), options,
                     {.ids = s.tokens, .types = s.types, .source = s.source, .pixels = pixels_}, what);
}

// A logit of -inf is a token that is never drawn.
void RunScheduler::require_finite(std::span<const float> results, std::size_t slot, const std::string& name) const {
    const bool logits = name == model_names::logits;
    const auto wrong = [logits](float x) { return !std::isfinite(x) && !(logits && std::isinf(x) && x < 0); };
    if (std::ranges::any_of(results, wrong)) fail_not_finite(slot, format("the results \"{}\"", name));
}

// Reads what a run left of each sequence. Nothing is kept unless all is finite.
void RunScheduler::collect(const Plan& plan, const PromptRun& run) {
    const TraceSpan span("read results");
    std::vector<std::pair<std::vector<float>*, std::vector<float>>> kept;
    const bool labels = config_.head == Head::classification;
    for (std::size_t i = 0; i < run.slots.size(); ++i) {
        const std::size_t slot = run.slots[i];
        const auto append = [&](std::vector<float>& to, const std::string& name, std::int64_t first,
                                std::int64_t count) {
            if (plan.graph().outputs().count(name) == 0) return;
            kept.emplace_back(&to, plan.read_rows(name, count, first));
            require_finite(kept.back().second, slot, name);
        };
        SequenceState::Results& to = sequences_[slot].results;
        const std::int64_t lane = lane_of(run, slot), first = lane * run.rows, count = run.counts[i];
        append(to.logits, model_names::logits, labels ? lane : first, labels ? 1 : count);
        const std::optional<std::int64_t> row = pooled_row(config_, sequences_[slot].tokens);
        append(to.pooled, model_names::pooled, row ? first + *row : lane, 1);
        append(to.relation, model_names::relation, lane, 1);
        append(to.last_hidden, model_names::last_hidden, first, count);
        for (std::size_t layer = 0; layer < to.hidden.size(); ++layer)
            append(to.hidden[layer], model_names::hidden(static_cast<std::int64_t>(layer)), first, count);
        for (std::size_t layer = 0; layer < to.router.size(); ++layer)
            append(to.router[layer], model_names::router(static_cast<std::int64_t>(layer)), first, count);
    }
    for (auto& [to, some] : kept) to->insert(to->end(), some.begin(), some.end());
}

// One run of a prompt. A sequence whose last token is in it draws its next one with `draw`.
void RunScheduler::run_prompt(const PromptRun& run, bool draw) {
    Plan& plan = plans_.get({.lanes = std::ssize(run.lanes), .rows = run.rows});
    set_lanes(run.lanes, held_beside(run, draw));
    const bool look = options_.inspect || config_.kind == ModelKind::encoder;
    bool draws = draw && run.rows == 1;
    for (std::size_t i = 0; i < run.slots.size(); ++i)
        draws = draws || (draw && sequences_[run.slots[i]].waiting() == run.counts[i]);
    const std::uint64_t ticket = submit(plan, std::span(both_segments).first(look || draws ? 2 : 1),
                                        filled(run.lanes, std::ranges::max(run.counts)));
    if (look || options_.profile) {
        plan.wait(ticket);
        note_timings(plan);
        if (look) collect(plan, run);
    }
    // not when Ctrl-C came before all of it was submitted and collected
    for (std::size_t i = 0; i < run.slots.size(); ++i) {
        SequenceState& s = sequences_[run.slots[i]];
        s.note_run(run.counts[i], run.rows, draw);
        count_prompt(s, run.counts[i]);
    }
    stats_.prompt_rows += std::ssize(run.lanes) * run.rows;
}

void RunScheduler::run_prompts(std::span<const PromptRun> runs, bool draw) {
    const Stopwatch running(stats_.prompt_seconds);
    for (const PromptRun& run : runs) {
        throw_if_interrupted();
        run_prompt(run, draw);
    }
    settle();
}

// Runs `left` tokens of what waits of each sequence, and draws nothing.
void RunScheduler::run_waiting(const std::vector<std::int64_t>& left, const RunShapes& shapes) {
    const std::vector<PromptRun> runs = prompt_runs(left, shapes);
    compile_for(runs);
    settle();
    for (std::size_t slot = 0; slot < left.size(); ++slot)
        if (left[slot] > 0) {
            changed(slot);
            write_slot(slot, left[slot], false);
        }
    if (config_.is_vision()) states_.write_pixels(pixels_);
    run_prompts(runs, false);
}

// In runs of as many rows as before: the caches are the same to the last bit. A state-space model's tokens that have
// run since the last state that is kept are lost, too.
void RunScheduler::run_lost(std::span<const std::size_t> slots) {
    if (config_.state_space) {
        settle();
        for (const std::size_t slot : slots) sequences_[slot].begin_at_state(states_.reached(slot));
    }
    while (true) {
        ChunkRun longest{.rows = 0};
        for (const std::size_t slot : slots)
            if (const ChunkRun next = sequences_[slot].next_lost(); next.count > 0 && next.rows > longest.rows)
                longest = next;
        if (longest.rows == 0) break;
        std::vector<std::int64_t> left(sequences_.size());
        for (const std::size_t slot : slots)
            if (const ChunkRun next = sequences_[slot].next_lost(); next.rows == longest.rows) left[slot] = next.count;
        run_waiting(left, {.rows = [&](std::size_t, std::int64_t) { return longest.rows; }, .lanes = shapes().lanes});
    }
    for (const std::size_t slot : slots) sequences_[slot].lost = 0;
}

void RunScheduler::run_tokens() {
    run_lost();
    std::vector<std::int64_t> left;
    for (SequenceState& s : sequences_) {
        if (s.waiting() > 0 && config_.kind == ModelKind::encoder) s.forget_results();  // all of it waits
        left.push_back(take_waiting(left.size()));
    }
    if (std::ranges::max(left) > 0) run_waiting(left, shapes());
}

// What of a sequence has to run before its tokens.
void RunScheduler::run_before_tokens(std::size_t slot) {
    if (sequences_[slot].source_waits) {
        std::vector<std::int64_t> left(sequences_.size());
        left[slot] = std::ssize(sequences_[slot].source);
        run_sources_of(left);
    }
    run_lost(std::span(&slot, 1));
}

void RunScheduler::run_tokens(std::size_t slot) {
    run_before_tokens(slot);
    std::vector<std::int64_t> left(sequences_.size());
    left[slot] = take_waiting(slot);
    if (left[slot] > 0) run_waiting(left, shapes());
}

void RunScheduler::submit_draw(Plan& plan) {
    in_flight_.push_back(
        submit(plan, both_segments, filled(drawing_, static_cast<std::int64_t>(1 + in_flight_.size()))));
    if (!options_.profile) return;
    plan.wait(in_flight_.back());
    note_timings(plan);
}

bool RunScheduler::has_unread(std::size_t slot) const { return known_[slot] > sequences_[slot].tokens.size(); }

bool RunScheduler::is_drawn(std::size_t slot) const {
    return states_.known_tokens(slot) > sequences_[slot].tokens.size();
}

// The token that was drawn next for a sequence; nothing when the device had ended it before.
std::optional<std::int32_t> RunScheduler::read_draw(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    if (!can_continue(s)) return std::nullopt;
    if (!is_drawn(slot)) {
        s.ended = true;
        return std::nullopt;
    }
    const std::int32_t token = states_.token(slot, s.tokens.size());
    s.tokens.push_back(token);
    s.types.push_back(0);
    s.processed = s.size() - 1;
    ++stats_.generated_tokens;
    if (!s.sampling.ignore_end && std::ranges::count(config_.end_tokens, token) > 0) end(slot);
    const bool ends_whole_text = s.mask && s.mask->may_end() && std::ranges::count(s.sampling.grammar_ends, token) > 0;
    if (ends_whole_text) end(slot);
    return token;
}

const std::vector<std::optional<std::int32_t>>& RunScheduler::next() {
    drawn_.assign(sequences_.size(), std::nullopt);
    bool any = false, begun = true;
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
        if (!can_continue(sequences_[slot])) continue;
        any = true;
        begun = begun && on_device_[slot];
    }
    if (!any) return drawn_;
    run_sources();
    try {
        if (!begun) begin_draws();
        draw_all();
    } catch (...) {  // what runs is not read any more: the next call begins after the tokens that are known
        on_device_ = none_;
        throw;
    }
    return drawn_;
}

// What the device has drawn for each sequence. Nothing may run, and nothing be held.
void RunScheduler::note_known() {
    for (std::size_t slot = 0; slot < known_.size(); ++slot) known_[slot] = states_.known_tokens(slot);
}

// Writes what the next token may be, by what is known of the text; ends a text that cannot go on. Nothing may be
// drawn of the sequence meanwhile.
bool RunScheduler::allow_tokens(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    if (s.mask) s.mask->follow(s.in_grammar());
    s.dead_end = false;
    const bool is_whole = s.mask && s.mask->may_end(), goes_on = !s.mask || s.mask->any_allowed();
    if (states_.write_bias(slot, s) && (goes_on || !is_whole)) return true;
    s.dead_end = !is_whole;
    end(slot);
    return false;
}

// Runs what waits of sequences that draw no tokens yet, and draws after it. The others keep what was drawn of them.
void RunScheduler::begin_draws() {
    settle();
    in_flight_.clear();
    std::vector<std::size_t> begin;
    for (const std::size_t slot : all_slots_)
        if (!on_device_[slot] && can_continue(sequences_[slot]) && allow_tokens(slot)) begin.push_back(slot);
    run_lost(begin);
    std::vector<std::int64_t> left(sequences_.size());
    for (const std::size_t slot : begin) {
        SequenceState& s = sequences_[slot];
        if (s.waiting() == 0) s.processed = s.redraw_from;  // all have run: the last ones again, to draw
        left[slot] = take_waiting(slot);
        s.tokens.reserve(static_cast<std::size_t>(context_));  // no token that is drawn allocates
        s.types.reserve(s.tokens.capacity());
    }
    const std::vector<PromptRun> runs = prompt_runs(left, shapes());
    compile_for(runs);
    if (!options_.fewest_lanes) timed_plan({.lanes = all()});
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
        if (on_device_[slot]) continue;
        if (config_.state_space) sequences_[slot].note_reached(states_.reached(slot));  // the step is overwritten
        write_slot(slot, left[slot], left[slot] == 0);
        if (left[slot] == 0) continue;
        states_.write_seen(slot, sequences_[slot]);
    }
    run_prompts(runs, true);
    let_all_draw();
    note_known();
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot)
        if (left[slot] > 0) on_device_[slot] = true;
}

void RunScheduler::draw_all() {
    choose_drawing_lanes();
    Plan& plan = timed_plan({.lanes = std::ssize(drawing_)});
    const double begin = seconds_now(), waited = gpu::seconds_waited();
    bool unread = true;  // something of every sequence
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot)
        unread = unread && (has_unread(slot) || !can_continue(sequences_[slot]));
    set_lanes(drawing_, unread ? none_ : held_for_host());
    const auto ahead = [&] { return std::ssize(in_flight_) + (unread ? 1 : 0); };
    const auto has_room = [&](const SequenceState& s) { return can_continue(s) && s.size() + ahead() < context_; };
    const auto waiting = [this](const SequenceState& s) { return waits_for_host(s); };
    const int most = std::ranges::any_of(sequences_, waiting) ? 1 : max_ahead;
    while (ahead() < most && std::ranges::any_of(sequences_, has_room)) submit_draw(plan);
    if (!unread) {
        gpu::wait(states_.device(), in_flight_.front());
        in_flight_.erase(in_flight_.begin());
        set_lanes(drawing_, none_);  // where some were held, nothing else is in flight
    }
    const TraceSpan span("read tokens");
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot)  // before a token of any is taken
        if (can_continue(sequences_[slot]) && !is_drawn(slot) && states_.no_answer(slot))
            fail_not_finite(slot, format("the logits of token {}", sequences_[slot].size()));
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
        drawn_[slot] = read_draw(slot);
        if (drawn_[slot] && waits_for_host(sequences_[slot])) allow_tokens(slot);
    }
    const double seconds = seconds_now() - begin;
    stats_.generate_seconds += seconds;
    stats_.host_seconds += std::max(0.0, seconds - (gpu::seconds_waited() - waited));  // of two clocks
}

void RunScheduler::end(std::size_t slot) {
    sequences_[slot].ended = true;
    states_.end(slot);
}

std::vector<float> RunScheduler::next_logits(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    run_before_tokens(slot);
    std::vector<std::int64_t> left(sequences_.size());
    if (options_.inspect) {
        left[slot] = take_waiting(slot);
        if (left[slot] > 0) run_waiting(left, shapes());
        return {s.results.logits.end() - config_.vocab, s.results.logits.end()};
    }
    settle();
    if (!on_device_[slot]) return logits_of_prompt(slot);
    let_all_draw();
    const DeviceStates::SavedStep step = states_.read_step(slot);
    changed(slot);  // unless all goes well
    left[slot] = 1;
    write_slot(slot, left[slot], true);
    std::vector<float> logits = logits_of_last(slot, next_prompt_run(left, shapes()));
    states_.restore_step(slot, step);
    on_device_[slot] = true;
    return logits;
}

// The run that would draw the next token, without drawing it; the next draw has to run it again.
std::vector<float> RunScheduler::logits_of_prompt(std::size_t slot) {
    SequenceState& s = sequences_[slot];
    if (s.waiting() == 0) s.processed = s.redraw_from;
    std::vector<std::int64_t> left(sequences_.size());
    left[slot] = take_waiting(slot);
    const std::vector<PromptRun> runs = prompt_runs(left, shapes());
    compile_for(runs);
    write_slot(slot, left[slot], true);
    run_prompts(std::span(runs).first(runs.size() - 1), false);
    std::vector<float> logits = logits_of_last(slot, runs.back());
    const std::int64_t last = s.waiting();
    s.note_run(last, runs.back().rows, true);
    count_prompt(s, last);
    return logits;
}

// Nothing is drawn: the sequence's step says that it is done.
std::vector<float> RunScheduler::logits_of_last(std::size_t slot, const PromptRun& run) {
    Plan& plan = plans_.get({.lanes = std::ssize(run.lanes), .rows = run.rows});
    set_lanes(run.lanes, held_beside(run, false));
    submit(plan, both_segments, filled(run.lanes, run.rows));
    settle();
    std::vector<float> logits = plan.read_rows(model_names::logits, 1, lane_of(run, slot));
    require_finite(logits, slot, model_names::logits);
    return logits;
}

void RunScheduler::run_source(const PromptRun& run) {
    Plan& plan = timed_plan({.lanes = std::ssize(run.lanes), .rows = run.rows, .encoder = true});
    const Stopwatch running(stats_.prompt_seconds);
    settle();
    std::int64_t longest = 0;
    if (config_.sees()) states_.write_pixels(pixels_);
    for (const std::size_t slot : run.lanes) states_.skip_source(slot);
    for (const std::size_t slot : run.slots) {
        states_.write_source(slot, sequences_[slot]);
        longest = std::max(longest, std::ssize(sequences_[slot].source));
    }
    states_.map_lanes(StepOf::source, run.lanes);
    submit(plan, both_segments, std::min(1.0, static_cast<double>(longest) / static_cast<double>(context_)));
    plan.wait(last_);
    note_timings(plan);
    for (const std::size_t slot : run.slots) {
        SequenceState& s = sequences_[slot];
        std::vector<std::vector<float>> hidden(s.results.source_hidden.size());
        for (std::size_t layer = 0; layer < hidden.size(); ++layer) {
            const std::string name = model_names::hidden(static_cast<std::int64_t>(layer));
            if (plan.graph().outputs().count(name) == 0) continue;
            hidden[layer] = plan.read_rows(name, std::ssize(s.source), lane_of(run, slot) * run.rows);
            require_finite(hidden[layer], slot, name);
        }
        s.results.source_hidden = std::move(hidden);
        s.source_waits = false;
        if (!std::exchange(s.source_again, false)) stats_.prompt_tokens += std::ssize(s.source);
    }
    stats_.prompt_rows += std::ssize(run.lanes) * run.rows;
}

void RunScheduler::run_sources() {
    if (std::ranges::none_of(sequences_, &SequenceState::source_waits)) return;  // before anything is allocated
    std::vector<std::int64_t> left;
    for (const SequenceState& s : sequences_) left.push_back(s.source_waits ? std::ssize(s.source) : 0);
    run_sources_of(left);
}

// In one run each: an encoder's first tokens see the last.
void RunScheduler::run_sources_of(const std::vector<std::int64_t>& left) {
    const RunShapes shapes{.rows = [this](std::size_t, std::int64_t tokens) { return source_rows_for(tokens); },
                           .lanes = [this](std::int64_t rows, std::int64_t wanted) { return lanes_for(rows, wanted); }};
    for (const PromptRun& run : prompt_runs(left, shapes)) {
        throw_if_interrupted();
        run_source(run);
    }
}

}  // namespace vantage::internal
