#include "runtime/serve/scheduler.h"

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"
#include "runtime/serve/logprobs.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr double longest_pause = 30;  // seconds that a reader that is behind may read nothing
constexpr std::chrono::milliseconds between_looks_at_readers(20);

/// What a reader throws is its own.
template <class Call>
void call_reader(Call call) {
    try {
        call();
    } catch (const std::exception& error) {
        log(LogLevel::error, "serve: {}", error.what());
    }
}

Error draining_error() { return {ErrorKind::interrupted, "the server is shutting down"}; }

}  // namespace

struct Scheduler::Generation {
    std::shared_ptr<GenerationRequest> request;
    std::uint64_t number = 0;
    double came = 0, began = 0;
    bool paused = false;
    std::optional<TextStream> text;
    Usage usage;
    std::int64_t fed = 0;  ///< tokens of the prompt that the sequence has been given
    std::vector<float> logits;
    std::atomic<bool> cancelled = false;

    bool is_fed() const { return fed == std::ssize(request->prompt); }
    void end(Ending ending, const std::optional<Error>& error) {
        call_reader([&] { request->on_end({.ending = ending, .usage = usage, .error = error}); });
    }
};

Scheduler::Scheduler(const Model& model, SchedulerOptions options)
    : options_(std::move(options)),
      model_(model),
      tokenizer_(model.tokenizer()),
      info_(model.info()),
      answers_(config_of(model).kind == ModelKind::encoder_decoder) {
    if (config_of(model).kind != ModelKind::encoder) {
        options_.session.fewest_lanes = options_.session.token_bias = true;
        batch_.emplace(model, options_.slots, options_.session);
        context_ = batch_->context();
        running_.resize(static_cast<std::size_t>(options_.slots));
        slots_.resize(running_.size());
    } else {
        context_ = info_.context;
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
    {
        const std::lock_guard lock(mutex_);
        drains_ = abandons_ = true;
        thread_.request_stop();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// ---- any thread -----------------------------------------------------------------------------------------------------

bool Scheduler::submit(std::span<const std::shared_ptr<GenerationRequest>> requests) {
    if (running_.empty()) throw usage_error("{} is an encoder: it draws no tokens", described(info_));
    if (std::ssize(requests) > options_.queue + options_.slots)
        throw usage_error("{} texts at once, but there are {} slots and a queue of {}", requests.size(), options_.slots,
                          options_.queue);
    Queue more;
    for (const auto& request : requests) {
        const std::int64_t tokens = std::ssize(request->prompt);
        if (tokens == 0) throw usage_error("the prompt has no tokens");
        if (tokens >= context_)
            throw usage_error("the prompt has {} tokens, but the context has {}, of which one has to be free", tokens,
                              context_);
        for (const std::int32_t id : request->prompt)
            if (id < 0 || id >= info_.vocab)
                throw usage_error("token {} is outside of the vocabulary: 0 … {}", id, info_.vocab - 1);
        more.push_back(std::make_shared<Generation>());
        more.back()->request = request;
        more.back()->came = seconds_now();
        more.back()->text.emplace(tokenizer_, request->text);
    }
    {
        const std::lock_guard lock(mutex_);
        const std::int64_t free = std::ranges::count(running_, nullptr);
        const bool has_room = std::ssize(waiting_) + std::ssize(more) <= options_.queue + free;
        if (drains_ || lost_ || !has_room) {
            ++counts_.rejected;
            return false;
        }
        for (const auto& one : more) {
            one->number = ++numbers_;
            waiting_.push_back(one);
        }
    }
    changed_.notify_all();
    return true;
}

void Scheduler::cancel(std::span<const std::shared_ptr<GenerationRequest>> requests) {
    const std::lock_guard lock(mutex_);
    const auto mark = [&](const std::shared_ptr<Generation>& one) {
        if (one && std::ranges::count(requests, one->request) > 0) one->cancelled = true;
    };
    std::ranges::for_each(running_, mark);
    std::ranges::for_each(waiting_, mark);
    changed_.notify_all();
}

bool Scheduler::post(PostedWork work) {
    {
        const std::lock_guard lock(mutex_);
        if (drains_ || lost_ || std::ssize(posted_) > options_.queue) {
            ++counts_.rejected;
            return false;
        }
        posted_.push_back(std::move(work));
    }
    changed_.notify_all();
    return true;
}

void Scheduler::rethrow_failure() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

Readiness Scheduler::readiness() const {
    const std::lock_guard lock(mutex_);
    if (lost_) return Readiness::lost;
    if (drains_) return Readiness::draining;
    if (!compiled_) return Readiness::loading;
    return recovers_ ? Readiness::recovering : Readiness::ready;
}

void Scheduler::drain() {
    const std::lock_guard lock(mutex_);
    drains_ = true;
    changed_.notify_all();
}

void Scheduler::abandon() {
    const std::lock_guard lock(mutex_);
    drains_ = abandons_ = true;
    changed_.notify_all();
}

bool Scheduler::is_idle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && posted_.empty() &&
           std::ranges::none_of(running_, [](const auto& one) { return one != nullptr; });
}

SchedulerCounts Scheduler::counts() const {
    const std::lock_guard lock(mutex_);
    SchedulerCounts now = counts_;
    now.running = std::ranges::count_if(running_, [](const auto& one) { return one != nullptr; });
    now.waiting = std::ssize(waiting_);
    return now;
}

std::vector<GenerationState> Scheduler::states() const {
    const std::lock_guard lock(mutex_);
    std::vector<GenerationState> all;
    const auto add = [&](const std::shared_ptr<Generation>& one, bool runs) {
        if (!one) return;
        all.push_back({.number = one->number,
                       .runs = runs,
                       .prompt = std::ssize(one->request->prompt),
                       .processed = one->fed,
                       .generated = one->usage.generated,
                       .seconds = seconds_now() - one->came});
    };
    for (const auto& one : running_) add(one, true);
    for (const auto& one : waiting_) add(one, false);
    return all;
}

double Scheduler::expected_wait() const {
    const std::lock_guard lock(mutex_);
    return mean_seconds_ * static_cast<double>(std::ssize(waiting_) + 1) / static_cast<double>(options_.slots);
}

// ---- the scheduler's thread -----------------------------------------------------------------------------------------

void Scheduler::work(const std::stop_token& stop) {
    const InterruptsDeferred whole;  // a signal drains; it does not end a run
    try {
        if (batch_) SessionAccess::use(*batch_)->runs.compile_all();  // so that no text waits for a plan
        const std::lock_guard lock(mutex_);
        compiled_ = true;
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        lost_ = true;
    }
    while (take_work(stop)) {
        try {
            serve(stop);
        } catch (const Error& error) {
            handle(error);
        } catch (const std::exception& error) {
            handle(Error(ErrorKind::out_of_memory, error.what()));
        }
    }
    fail_all(draining_error());
}

// What fails here is not tried again.
void Scheduler::handle(const Error& error) noexcept {
    try {
        if (error.kind() == ErrorKind::device_lost) return recover(error);
        return error.kind() == ErrorKind::accuracy ? fail_one_of(error) : fail_all(error);
    } catch (const std::exception& second) {
        log(LogLevel::error, "serve: {}", second.what());
    }
    {
        const std::lock_guard lock(mutex_);
        lost_ = true;
    }
    fail_all(error);
}

// Waits for work; false when there will be none.
bool Scheduler::take_work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto has_work = [&] {
        return stop.stop_requested() || !waiting_.empty() || !posted_.empty() ||
               std::ranges::any_of(running_, [](const auto& one) { return one != nullptr; });
    };
    changed_.wait(lock, has_work);
    return !stop.stop_requested();
}

void Scheduler::serve(const std::stop_token& stop) {
    run_posted();
    end_cancelled();
    bool abandons = false, drains = false, lost = false;
    {
        const std::lock_guard lock(mutex_);
        abandons = abandons_, drains = drains_, lost = lost_;
    }
    if (abandons) return fail_all(draining_error());
    if (lost) return fail_all(Error(ErrorKind::device_lost, "the device was lost"));
    if (drains) {
        Queue waited;
        {
            const std::lock_guard lock(mutex_);
            waited.swap(waiting_);
        }
        for (const auto& one : waited) one->end(Ending::stopped, draining_error());
    }
    if (stop.stop_requested() || !batch_) return;
    admit();
    run_part_of_prompt();
    pause_slow_readers();
    draw();
}

// One piece, so that texts go on beside it.
void Scheduler::run_posted() {
    PostedWork work;
    {
        const std::lock_guard lock(mutex_);
        if (posted_.empty() || lost_ || abandons_) return;
        work = std::move(posted_.front());
        posted_.pop_front();
    }
    if (!work.is_wanted()) return;
    try {
        work.run(*model_);
    } catch (const Error& error) {
        work.refuse(error);
        if (error.kind() == ErrorKind::device_lost) throw;
    } catch (const std::exception& error) {
        work.refuse(Error(ErrorKind::out_of_memory, error.what()));
    }
}

void Scheduler::refuse_posted(const Error& error) {
    std::deque<PostedWork> all;
    {
        const std::lock_guard lock(mutex_);
        all.swap(posted_);
    }
    for (const PostedWork& work : all) work.refuse(error);
}

void Scheduler::end_cancelled() {
    Queue ended;
    {
        const std::lock_guard lock(mutex_);
        const auto is_cancelled = [](const std::shared_ptr<Generation>& one) { return one->cancelled.load(); };
        std::ranges::copy_if(waiting_, std::back_inserter(ended), is_cancelled);
        std::erase_if(waiting_, is_cancelled);
        counts_.cancelled += ended.size();
    }
    for (const auto& one : ended) one->end(Ending::stopped, std::nullopt);
    for (std::size_t slot = 0; slot < running_.size(); ++slot)
        if (running_[slot] && running_[slot]->cancelled) {
            {
                const std::lock_guard lock(mutex_);
                ++counts_.cancelled;
            }
            finish(slot, Ending::stopped);
        }
}

void Scheduler::admit() {
    while (std::ranges::find(running_, nullptr) != running_.end()) {
        std::shared_ptr<Generation> next;
        std::size_t slot = 0;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty()) return;
            next = waiting_.front();
            waiting_.pop_front();
            slot = slot_for(*next->request);
            running_[slot] = next;
            next->began = seconds_now();
        }
        try {
            begin(*next, slot);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::device_lost) throw;
            finish(slot, Ending::stopped, error);
        }
    }
}

namespace {

std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

// The free slot that has the most of the prompt already, of one owner; else the one that was freed first.
std::size_t Scheduler::slot_for(const GenerationRequest& request) const {
    std::optional<std::size_t> best;
    std::pair<std::int64_t, double> best_rank;
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
        if (running_[slot]) continue;
        const Slot& s = slots_[slot];
        const std::int64_t shared =
            s.owner == request.owner
                ? common_prefix((*batch_)[static_cast<std::int64_t>(slot)].tokens(), request.prompt)
                : 0;
        const std::pair rank{shared, -s.freed};
        if (!best || rank > best_rank) best = slot, best_rank = rank;
    }
    return best.value();
}

void Scheduler::begin(Generation& generation, std::size_t slot) {
    const GenerationRequest& request = *generation.request;
    Sequence& sequence = (*batch_)[static_cast<std::int64_t>(slot)];
    generation.usage.prompt = std::ssize(request.prompt);
    if (answers_) {
        sequence.restart(with_ends(request.sampling, request.text.end_tokens));
        begin_answer(sequence, request.prompt);
        const std::lock_guard lock(mutex_);
        generation.fed = std::ssize(request.prompt);
        slots_[slot].owner = request.owner;
        return;
    }
    // the last token runs again, for its logits
    const std::int64_t kept =
        slots_[slot].owner == request.owner
            ? std::min(common_prefix(sequence.tokens(), request.prompt), std::ssize(request.prompt) - 1)
            : 0;
    sequence.set_sampling(with_ends(request.sampling, request.text.end_tokens));
    sequence.rewind(kept);
    slots_[slot].owner = request.owner;                               // not before what was another's is gone
    SessionAccess::use(*batch_)->runs.forget_unfinished(slot, kept);  // what `append` would forget
    sequence.end();
    const std::lock_guard lock(mutex_);
    generation.fed = kept;
    generation.usage.cached = std::min(kept, sequence.processed());
    counts_.prompt_cached += static_cast<std::uint64_t>(generation.usage.cached);
    counts_.prompt_run += static_cast<std::uint64_t>(generation.usage.prompt - generation.usage.cached);
}

// At most options_.prompt_part tokens in all. Parts end at its multiples, so that they are the chunks that the prompt has
// alone.
void Scheduler::run_part_of_prompt() {
    std::int64_t room = options_.prompt_part;
    std::vector<std::size_t> waiting;
    for (std::size_t slot = 0; slot < running_.size(); ++slot)
        if (running_[slot] && !running_[slot]->is_fed()) waiting.push_back(slot);
    std::ranges::sort(waiting, {}, [this](std::size_t slot) { return running_[slot]->number; });
    for (const std::size_t slot : waiting) {
        if (room <= 0) break;
        Generation& generation = *running_[slot];
        const std::vector<std::int32_t>& prompt = generation.request->prompt;
        const std::int64_t end = std::min((generation.fed / options_.prompt_part + 1) * options_.prompt_part,
                                          std::ssize(prompt)),
                           count = end - generation.fed;
        if (count > room && room < options_.prompt_part) continue;
        room -= count;
        Sequence& sequence = (*batch_)[static_cast<std::int64_t>(slot)];
        sequence.append(
            std::span(prompt).subspan(static_cast<std::size_t>(generation.fed), static_cast<std::size_t>(count)));
        {
            const std::lock_guard lock(mutex_);
            generation.fed = end;
        }
        if (generation.is_fed()) continue;  // runs with the draw
        batch_->run(static_cast<std::int64_t>(slot));
    }
}

// A sequence whose reader is behind draws nothing. Where the tokens are, does not change what is drawn next.
void Scheduler::pause_slow_readers() {
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
        if (!running_[slot] || !running_[slot]->is_fed()) continue;
        Generation& generation = *running_[slot];
        Sequence& sequence = (*batch_)[static_cast<std::int64_t>(slot)];
        const std::optional<double> behind = generation.request->behind();
        if (behind && !generation.paused && !sequence.ended()) {
            generation.paused = true;
            sequence.end();
        } else if (!behind && generation.paused) {
            generation.paused = false;
            sequence.rewind(std::ssize(sequence.tokens()));
        } else if (generation.paused && *behind > longest_pause) {
            finish(slot, Ending::stopped,
                   Error(ErrorKind::failure, "the client has not read for 30 seconds, so its request was ended"));
        }
    }
}

// What a token is likely by the model itself is asked before it is drawn, which takes a run of its own.
void Scheduler::note_logits() {
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
        const auto& one = running_[slot];
        if (!one || !one->request->logprobs || !one->is_fed() || one->paused) continue;
        one->logits = (*batch_)[static_cast<std::int64_t>(slot)].next_logits().vector();
    }
}

void Scheduler::draw() {
    const auto draws = [](const std::shared_ptr<Generation>& one) { return one && one->is_fed() && !one->paused; };
    // a sequence goes on when it is given tokens, also where the device was lost before they had run
    for (std::size_t slot = 0; slot < running_.size(); ++slot)
        if (running_[slot] && !draws(running_[slot])) (*batch_)[static_cast<std::int64_t>(slot)].end();
    for (std::size_t slot = 0; slot < running_.size(); ++slot)  // before anything runs for them
        if (draws(running_[slot]) && !running_[slot]->text->wants_more()) take(slot, std::nullopt);
    if (std::ranges::none_of(running_, draws)) {
        if (std::ranges::any_of(running_, [](const auto& one) { return one && one->paused; }))
            std::this_thread::sleep_for(between_looks_at_readers);
        return;
    }
    note_logits();
    const std::vector<std::optional<std::int32_t>> drawn = batch_->next();
    drawn_since_loss_ = true;
    for (std::size_t slot = 0; slot < running_.size(); ++slot)
        if (draws(running_[slot])) take(slot, drawn[slot]);
}

void Scheduler::take(std::size_t slot, std::optional<std::int32_t> id) {
    Generation& generation = *running_[slot];
    const GenerationRequest& request = *generation.request;
    const Ending why = reason_to_end((*batch_)[static_cast<std::int64_t>(slot)]);
    if (id) {
        const std::lock_guard lock(mutex_);
        ++generation.usage.generated;
        ++counts_.generated;
    }
    const std::optional<Token> token = generation.text->take(id, why);
    if (token || id) {
        DrawnToken drawn{.id = id ? *id : -1, .text = token ? token->text : std::string()};
        if (id && request.logprobs && !generation.logits.empty()) {
            const Logprobs all(generation.logits);
            drawn.logprob = all.of(*id);
            drawn.top = all.largest(*request.logprobs, *id);
            generation.logits.clear();
        }
        call_reader([&] { request.on_token(drawn); });
    }
    if (generation.text->done()) return finish(slot, generation.text->ending());
    if (!id || !generation.text->wants_more()) take(slot, std::nullopt);
}

void Scheduler::finish(std::size_t slot, Ending ending, const std::optional<Error>& error) {
    std::shared_ptr<Generation> ended;
    {
        const std::lock_guard lock(mutex_);
        ended = std::exchange(running_[slot], nullptr);
        constexpr double weight = 0.1;
        mean_seconds_ += weight * (seconds_now() - ended->began - mean_seconds_);
    }
    slots_[slot].freed = seconds_now();
    if (!error || error->kind() != ErrorKind::device_lost) (*batch_)[static_cast<std::int64_t>(slot)].end();
    ended->end(ending, error);
}

// What ran may be the reason: nothing of it is kept.
void Scheduler::fail_all(const Error& error) {
    Queue ended;
    bool lost = false;
    {
        const std::lock_guard lock(mutex_);
        for (auto& one : running_)
            if (one) ended.push_back(std::exchange(one, nullptr));
        for (const auto& one : waiting_) ended.push_back(one);
        waiting_.clear();
        lost = lost_;
    }
    if (batch_ && !lost) batch_->restart();
    for (const auto& one : ended) one->end(Ending::stopped, error);
    refuse_posted(error);
}

// Results of a sequence are not finite: that one ends, whose logits cannot be had.
void Scheduler::fail_one_of(const Error& error) {
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
        if (!running_[slot] || !running_[slot]->is_fed()) continue;
        Sequence& sequence = (*batch_)[static_cast<std::int64_t>(slot)];
        try {
            static_cast<void>(sequence.next_logits());
        } catch (const Error& own) {
            if (own.kind() != ErrorKind::accuracy) return fail_all(own);
            sequence.restart();
            return finish(slot, Ending::stopped, own);
        }
    }
    fail_all(error);
}

// A second loss before another token is no accident.
void Scheduler::recover(const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        ++counts_.losses;
        recovers_ = true;
    }
    if (options_.reload && std::exchange(drawn_since_loss_, false)) {
        log(LogLevel::warning, "recovering: {}", error.what());
        try {
            options_.before_reload();
            model_.reset();
            const auto reload = [&] {
                model_.emplace(options_.reload());
                return *model_;
            };
            batch_ ? batch_->recover(reload) : void(reload());
            const std::lock_guard lock(mutex_);
            recovers_ = false;
            return;
        } catch (const std::exception& second) {
            log(LogLevel::error, "{}", second.what());
        }
    }
    {
        const std::lock_guard lock(mutex_);
        lost_ = true;
    }
    fail_all(error);
}

}  // namespace vantage::serve
