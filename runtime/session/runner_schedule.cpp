// How a runner runs its sequences: its plans by size, prompts in chunks, steps, drawn tokens ahead of the host.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/base/trace_span.h"
#include "runtime/exec/plan_access.h"
#include "runtime/gpu/queue.h"
#include "runtime/models/architecture.h"
#include "runtime/session/runner.h"
#include "shaders/params/step.h"

namespace vantage {

namespace {

constexpr std::int64_t max_rows = 16384;  // of a run of several sequences
constexpr int run_ahead = 2;              // generated tokens submitted before the first of them is read

void start_step(std::uint32_t* words, std::int64_t position, std::int64_t end, std::int64_t context) {
    std::memset(words, 0, STEP_WORDS * 4);
    words[STEP_POSITION] = static_cast<std::uint32_t>(position);
    words[STEP_END] = static_cast<std::uint32_t>(end);
    words[STEP_LIMIT] = static_cast<std::uint32_t>(context);
}

// Operands may be rounded in all sessions but those of f32, and not where attention is watched: a weight is recomputed
// from the q, k and log-sum-exp that the kernel used.
bool rounds_operands(const SessionOptions& options) {
    return options.precision != Precision::f32 && !options.record_attention.every &&
           options.record_attention.layers.empty();
}

}  // namespace

Plan& Runner::plan(GraphPlans& side, std::int64_t rows) {
    if (const auto made = side.plans.find(rows); made != side.plans.end()) return *made->second;
    auto made = std::make_unique<Plan>(detail::PlanAccess::make(
        model.graph(build_options(rows, side.encoder)), model.device(),
        CompileOptions{.fuse = options.fuse,
                       .profile = options.profile,
                       .guard = options.guard,
                       .f16_operands = rounds_operands(options),
                       .int8_operands = rounds_operands(options) && options.precision == Precision::int8,
                       .submission_seconds = options.submission_seconds},
        bindings));
    return *(side.plans[rows] = std::move(made));
}

// Rows of an encoder's plan for a text: the first tokens see the last.
std::int64_t Runner::encoder_plan_rows(std::int64_t waiting) const {
    std::int64_t size = chunk_sizes[1];
    while (size < waiting) size *= 2;
    return size;
}

// The smallest size that holds all that waits, unless it would be padding for the most part.
std::int64_t Runner::chunk_for(std::int64_t waiting) const {
    if (is_vision()) return context;
    if (is_encoder()) return encoder_plan_rows(waiting);
    std::int64_t best = 1;
    for (std::int64_t size : chunk_sizes) {
        if (size > options.largest_chunk || (size > 1 && size * std::ssize(sequences) > max_rows)) break;
        if (size >= waiting) return size < 2 * waiting || best == 1 ? size : best;
        best = size;
    }
    return best;
}

// Which part of the longest sequence's cache holds keys when `more` tokens have run.
double Runner::filled(std::int64_t more) const {
    std::int64_t max_processed = 0;
    for (const Sequence& s : sequences) max_processed = std::max(max_processed, s.processed);
    return std::min(1.0, static_cast<double>(max_processed + more) / static_cast<double>(context));
}

// Waits for all that runs; what was drawn meanwhile can still be read.
void Runner::settle() const { gpu::wait(device, device.queue.submitted); }

void Runner::finish_flight() {
    settle();
    in_flight.clear();
}

// Tokens that a run takes; of a sequence that no token is drawn for nothing, when tokens are drawn.
std::int64_t Runner::waiting(const Sequence& s, bool draw) const {
    return draw && !can_continue(s) ? 0 : s.size() - s.processed;
}

std::uint32_t* Runner::step_of(std::size_t index) const {
    return reinterpret_cast<std::uint32_t*>(own.step.mapped()) + index * STEP_WORDS;
}

// With `hold_back` the sequence ends for the device one token before it does.
void Runner::write_step(std::size_t index, bool draw, bool hold_back) {
    const Sequence& s = sequences[index];
    const std::int64_t left = waiting(s, draw);
    std::uint32_t* words = step_of(index);
    start_step(words, s.processed, s.processed + std::max<std::int64_t>(left - (hold_back ? 1 : 0), 0), context);
    words[STEP_DONE] = draw && left == 0 ? 1 : 0;
    words[STEP_SEED_LOW] = static_cast<std::uint32_t>(s.sampling.seed);
    words[STEP_SEED_HIGH] = static_cast<std::uint32_t>(s.sampling.seed >> 32);
    words[STEP_TEMPERATURE] = std::bit_cast<std::uint32_t>(static_cast<float>(s.sampling.temperature));
    words[STEP_TOP_K] = static_cast<std::uint32_t>(s.sampling.top_k);
    words[STEP_TOP_P] = std::bit_cast<std::uint32_t>(static_cast<float>(s.sampling.top_p));
    words[STEP_MIN_P] = std::bit_cast<std::uint32_t>(static_cast<float>(s.sampling.min_p));
    words[STEP_PENALTY] = std::bit_cast<std::uint32_t>(static_cast<float>(s.sampling.repeat_penalty));
    const std::vector<std::int64_t>& end_tokens = model.config().end_tokens;
    const std::size_t ends = s.sampling.ignore_end ? 0 : std::min<std::size_t>(end_tokens.size(), 8);
    words[STEP_END_TOKENS] = static_cast<std::uint32_t>(ends);
    for (std::size_t i = 0; i < ends; ++i) words[STEP_END_TOKEN + i] = static_cast<std::uint32_t>(end_tokens[i]);
}

// Makes the device's steps and tokens what the host knows. Only while nothing runs.
void Runner::sync_device(bool draw, bool hold_back) {
    step_current = false;
    finish_flight();
    const auto place = [&](const char* name) {
        const auto found = bindings->buffers.find(name);
        return found == bindings->buffers.end() ? nullptr : found->second.mapped();
    };
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const Sequence& s = sequences[i];
        const std::size_t first = i * static_cast<std::size_t>(context) * sizeof(std::int32_t);
        write_step(i, draw, hold_back);
        const auto write = [&](std::byte* to, const std::vector<std::int32_t>& numbers) {
            if (to != nullptr) std::memcpy(to + first, numbers.data(), numbers.size() * sizeof(std::int32_t));
        };
        write(own.tokens.mapped(), s.tokens);
        write(place(model_names::types), s.types);
        if (place(model_names::positions) != nullptr)
            write(place(model_names::positions), token_positions(model.config(), s.tokens));
    }
    if (is_vision())
        std::memcpy(bindings->buffers.at(model_names::pixels).mapped(), pixels.data(), pixels.size() * sizeof(float));
}

void Runner::note_timings(const Plan& p) {
    if (!options.profile) return;
    const std::vector<DispatchTiming> some = p.timings();
    timings.insert(timings.end(), some.begin(), some.end());
}

// Brings what the run left of a sequence: `rows` rows from row `first` of all on.
void Runner::collect(const Plan& p, std::size_t index, std::int64_t first, std::int64_t rows) {
    const auto append = [&](std::vector<float>& to, const std::string& name, std::int64_t from, std::int64_t count) {
        if (p.graph().outputs().count(name) == 0) return;
        const std::vector<float> some = p.read_rows(name, count, from);
        to.insert(to.end(), some.begin(), some.end());
    };
    const TraceSpan span("read results");
    Sequence& s = sequences[index];
    const auto number = static_cast<std::int64_t>(index);
    const bool one = model.config().head == Head::classification;
    append(s.logits, model_names::logits, one ? number : first, one ? 1 : rows);
    append(s.pooled, model_names::pooled, number, 1);
    append(s.relation, model_names::relation, number, 1);
    append(s.last_hidden, model_names::last_hidden, first, rows);
    for (std::size_t i = 0; i < s.hidden.size(); ++i)
        append(s.hidden[i], model_names::hidden(static_cast<std::int64_t>(i)), first, rows);
    for (std::size_t i = 0; i < s.router.size(); ++i)
        append(s.router[i], model_names::router(static_cast<std::int64_t>(i)), first, rows);
}

// One run by the plan for `size` rows of each sequence, where it has fewer the rest is padding.
void Runner::run_chunk(std::int64_t size, bool draw, bool hold_back, bool with_head) {
    Plan& p = plan(own, size);
    const int segments[] = {model_names::body, model_names::head};
    const bool look = options.inspect || is_encoder();
    std::vector<std::int64_t> rows;
    for (const Sequence& s : sequences)
        rows.push_back(std::clamp<std::int64_t>(waiting(s, draw) - (hold_back ? 1 : 0), 0, size));
    const std::uint64_t ticket =
        p.submit(std::span(segments, with_head || look ? 2 : 1), filled(std::ranges::max(rows)));
    if (look || options.profile) {
        p.wait(ticket);
        note_timings(p);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i] > 0) collect(p, i, static_cast<std::int64_t>(i) * size, rows[i]);
    }
    // not when Ctrl-C came before all of it was submitted, and collected
    for (std::size_t i = 0; i < rows.size(); ++i) sequences[i].processed += rows[i];
    in_flight.assign(1, ticket);
}

// The plans that `left` tokens and what is drawn after them will need.
void Runner::make_plans(std::int64_t left, bool draw) {
    const double begin = seconds_now();
    for (std::int64_t size = 0; left > 0; left -= size) {
        throw_if_interrupted();
        plan(own, size = chunk_for(left));
    }
    if (draw) plan(own, 1);
    stats.compile_seconds += seconds_now() - begin;
}

// Runs what waits, chunk by chunk; the last one draws the next tokens when asked to, and stays in flight. All sequences draw
// in that run: one that would come to its end in an earlier chunk holds its last token back.
void Runner::run_prompt(bool draw) {
    std::int64_t left = 0;
    for (const Sequence& s : sequences) left = std::max(left, waiting(s, draw));
    make_plans(left, draw);
    const double begin = seconds_now();
    if (!is_encoder_decoder())  // else the prompt is what the encoder has read
        for (const Sequence& s : sequences) stats.prompt_tokens += waiting(s, draw);
    bool hold_back = draw && sequences.size() > 1 && chunk_for(left) < left;
    sync_device(draw, hold_back);
    while (left > 0) {
        throw_if_interrupted();
        const std::int64_t size = chunk_for(left);
        const bool last = size >= left;
        if (last && hold_back) sync_device(draw, hold_back = false);
        run_chunk(size, draw, hold_back, draw && last);
        left -= std::min(left, size);
    }
    if (!in_flight.empty()) gpu::wait(device, in_flight.back());
    if (!draw) in_flight.clear();
    step_current = draw;
    stats.prompt_seconds += seconds_now() - begin;
}

void Runner::run() {
    require_source();
    run_sources();
    bool waits = false;
    for (Sequence& s : sequences) {
        if (s.size() == s.processed) continue;
        waits = true;
        if (is_encoder()) forget_results(s);
    }
    if (waits) run_prompt(false);
}

void Runner::submit_draw() {
    const int segments[] = {model_names::body, model_names::head};
    Plan& p = plan(own, 1);
    in_flight.push_back(p.submit(segments, filled(static_cast<std::int64_t>(1 + in_flight.size()))));
    if (!options.profile) return;
    p.wait(in_flight.back());
    note_timings(p);
}

// The token that the run before drew for a sequence; nothing when the device had come to an end before it.
std::optional<std::int32_t> Runner::read_draw(std::size_t index) {
    Sequence& s = sequences[index];
    if (!can_continue(s)) return std::nullopt;
    const std::uint32_t known = static_cast<const volatile std::uint32_t*>(step_of(index))[STEP_END];
    if (known <= s.tokens.size()) {
        s.ended = true;
        return std::nullopt;
    }
    const auto* tokens = reinterpret_cast<const volatile std::int32_t*>(own.tokens.mapped());
    const std::int32_t token = tokens[index * static_cast<std::size_t>(context) + s.tokens.size()];
    s.tokens.push_back(token);
    s.processed = s.size() - 1;
    ++stats.generated_tokens;
    const std::vector<std::int64_t>& ends = model.config().end_tokens;
    if (!s.sampling.ignore_end && std::ranges::count(ends, token) > 0) end(index);
    return token;
}

const std::vector<std::optional<std::int32_t>>& Runner::next() {
    if (is_encoder())
        throw Error(ErrorKind::usage, model.info().name + " is an encoder (" + model.info().architecture +
                                          "): it draws no tokens, but inspect, embed and classify take it");
    require_source();
    drawn_.assign(sequences.size(), std::nullopt);
    if (std::ranges::all_of(sequences, [](const Sequence& s) { return s.tokens.empty(); }))
        throw Error(ErrorKind::usage, "there is nothing to continue: the prompt has no tokens");
    if (std::ranges::none_of(sequences, [&](const Sequence& s) { return can_continue(s); })) return drawn_;
    if (options.inspect) throw Error(ErrorKind::usage, "a session that inspects does not draw tokens");
    run_sources();
    if (!step_current) begin_draws();
    try {
        draw_all();
    } catch (...) {  // what runs is not read any more: the next call begins anew behind the tokens that are known
        step_current = false;
        throw;
    }
    return drawn_;
}

// Runs what waits, and draws behind it. Tokens that were drawn and not read are forgotten.
void Runner::begin_draws() {
    finish_flight();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        Sequence& s = sequences[i];
        if (can_continue(s) && s.processed == s.size()) --s.processed;  // all have run: the last one again, to draw
        mark_seen(i);
        s.tokens.reserve(static_cast<std::size_t>(context));  // no token that is drawn allocates
    }
    run_prompt(true);
}

void Runner::draw_all() {
    const double begin = seconds_now(), waited = gpu::seconds_waited();
    const auto has_room = [&](const Sequence& s) {
        return can_continue(s) && s.size() + std::ssize(in_flight) < context;
    };
    while (static_cast<int>(in_flight.size()) < run_ahead && std::ranges::any_of(sequences, has_room)) submit_draw();
    gpu::wait(device, in_flight.front());
    in_flight.erase(in_flight.begin());
    const TraceSpan span("read tokens");
    for (std::size_t i = 0; i < sequences.size(); ++i) drawn_[i] = read_draw(i);
    const double seconds = seconds_now() - begin;
    stats.generate_seconds += seconds;
    stats.host_seconds += seconds - (gpu::seconds_waited() - waited);
}

// The limit is the host's to write, so that nothing has to stop for it.
void Runner::end(std::size_t index) {
    sequences[index].ended = true;
    reinterpret_cast<volatile std::uint32_t*>(step_of(index))[STEP_LIMIT] = 0;
}

// The encoder runs over all texts that wait, in one piece each; of the other sequences the run has only padding.
void Runner::run_sources() {
    std::int64_t longest = 0;
    for (const Sequence& s : sequences)
        if (s.source_waits) longest = std::max(longest, std::ssize(s.source));
    if (longest == 0) return;
    double begin = seconds_now();
    Plan& p = plan(source, encoder_plan_rows(longest));
    stats.compile_seconds += seconds_now() - begin;
    begin = seconds_now();
    finish_flight();
    auto* lengths = reinterpret_cast<std::int32_t*>(bindings->buffers.at(model_names::source_length).mapped());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const Sequence& s = sequences[i];
        const std::int64_t count = s.source_waits ? std::ssize(s.source) : 0;
        start_step(reinterpret_cast<std::uint32_t*>(source.step.mapped()) + i * STEP_WORDS, 0, count, context);
        lengths[i] = static_cast<std::int32_t>(s.source.size());
        std::memcpy(source.tokens.mapped() + i * static_cast<std::size_t>(context) * sizeof(std::int32_t),
                    s.source.data(), s.source.size() * sizeof(std::int32_t));
    }
    const int segments[] = {model_names::body, model_names::head};
    p.wait(p.submit(segments, static_cast<double>(longest) / static_cast<double>(context)));
    note_timings(p);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        Sequence& s = sequences[i];
        if (!std::exchange(s.source_waits, false)) continue;
        for (std::size_t layer = 0; layer < s.source_hidden.size(); ++layer)
            if (const std::string name = model_names::hidden(static_cast<std::int64_t>(layer));
                p.graph().outputs().count(name) != 0)
                s.source_hidden[layer] =
                    p.read_rows(name, std::ssize(s.source), static_cast<std::int64_t>(i) * encoder_plan_rows(longest));
        stats.prompt_tokens += std::ssize(s.source);
    }
    stats.prompt_seconds += seconds_now() - begin;
}

}  // namespace vantage
