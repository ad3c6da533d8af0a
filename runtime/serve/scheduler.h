// Generations of one model that come and go while others run: continuous batching over a Batch.
//
// A slot is a sequence of the batch. A generation waits in a queue until a slot is free, and takes the one whose tokens
// begin most like its prompt, so that only the rest of the prompt runs. Prompts run in parts between the draws of the
// others. One thread has the device; everything here may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/internal.h"
#include "runtime/serve/logprobs.h"
#include "runtime/session/text_stream.h"
#include "vantage/batch.h"

namespace vantage::serve {

/// A token that was drawn, and the text that it completes.
struct DrawnToken {
    std::int32_t id = -1;  ///< -1: no token, but text that was held back
    std::string text = {};
    std::optional<double> logprob = {};  ///< with GenerationRequest::logprobs
    std::vector<TokenLogprob> top = {};  ///< the most probable first; the drawn one is always among them
};

struct Usage {
    std::int64_t prompt = 0, cached = 0, generated = 0;
};

/// How a generation went.
struct Outcome {
    Ending ending = Ending::length;
    Usage usage;
    std::optional<Error> error = {};  ///< it ended by it
};

struct GenerationRequest {
    std::vector<std::int32_t> prompt;
    Sampling sampling;
    GeneratorOptions text;             ///< max_tokens, stop and end_tokens count
    std::optional<int> logprobs = {};  ///< how many of the most probable tokens are told with each
    std::string owner = {};            ///< what ran of a prompt is reused for prompts of the same owner only
    /// Called in the scheduler's thread, which they must not hold up. `on_end` is the last call.
    std::function<void(const DrawnToken&)> on_token;
    std::function<void(const Outcome&)> on_end;
    /// Nothing unless the reader is behind; then no token is drawn for it. Seconds since it last read something.
    std::function<std::optional<double>()> behind = [] { return std::optional<double>(); };
};

/// What is known of a generation that runs or waits.
struct GenerationState {
    std::uint64_t number = 0;
    bool runs = false;
    std::int64_t prompt = 0, processed = 0, generated = 0;
    double seconds = 0;  ///< since it came
};

struct SchedulerOptions {
    std::int64_t slots = 8, queue = 128;
    SessionOptions session = {};
    std::function<Model()> reload = {};  ///< after the device was lost, as GeneratorOptions::reload
    /// Before that: to free what else is on the device.
    std::function<void()> before_reload = [] {};
    std::int64_t prompt_part = 512;  ///< tokens of a prompt that run between two draws of others
};

struct SchedulerCounts {
    std::uint64_t prompt_run = 0, prompt_cached = 0, generated = 0, cancelled = 0, rejected = 0, losses = 0;
    std::int64_t running = 0, waiting = 0;
};

/// recovering: the device was lost and is opened again; what comes waits. lost: for good.
enum class Readiness : std::uint8_t { loading, ready, recovering, lost, draining };

/// Work for the thread that has the device. It ends with `run` or with `refuse`.
struct PostedWork {
    std::function<void(const Model&)> run;
    std::function<void(const Error&)> refuse;
    std::function<bool()> is_wanted = [] { return true; };  ///< whether somebody still waits for it
};

class Scheduler : internal::NotCopied {
public:
    /// Makes the batch; its plans are compiled in the thread of the scheduler. Throws as Batch, and bad_file for a
    /// model without a tokenizer.
    Scheduler(const Model& model, SchedulerOptions options);
    ~Scheduler();

    /// Queues generations, all or none. Throws usage for a prompt that has no tokens or no room or an id that the model
    /// does not have, for more than could ever wait, and for models that draw no tokens. False if the queue is full or
    /// no more are taken.
    bool submit(std::span<const std::shared_ptr<GenerationRequest>> requests);
    /// Ends generations that nobody reads any more; on_end is called unless it has been.
    void cancel(std::span<const std::shared_ptr<GenerationRequest>> requests);
    /// Work between two draws, a piece each time. False as `submit`.
    bool post(PostedWork work);
    /// Throws what kept the plans from being compiled.
    void rethrow_failure() const;

    /// Takes no more; what waits ends with an error, what runs goes on.
    void drain();
    /// Ends what still runs with an error.
    void abandon();
    /// The same, and ends the thread.
    void stop();
    bool is_idle() const;
    Readiness readiness() const;
    std::int64_t context() const { return context_; }
    std::int64_t slots() const { return options_.slots; }
    SchedulerCounts counts() const;
    std::vector<GenerationState> states() const;
    /// Seconds until a slot may be free, by the last generations.
    double expected_wait() const;

private:
    struct Generation;
    using Queue = std::deque<std::shared_ptr<Generation>>;

    void work(const std::stop_token& stop);
    void handle(const Error& error) noexcept;
    void serve(const std::stop_token& stop);
    bool take_work(const std::stop_token& stop);
    void run_posted();
    void refuse_posted(const Error& error);
    void end_cancelled();
    void admit();
    std::size_t slot_for(const GenerationRequest& request) const;
    void begin(Generation& generation, std::size_t slot);
    void run_part_of_prompt();
    void pause_slow_readers();
    void draw();
    void take(std::size_t slot, std::optional<std::int32_t> id);
    void note_logits();
    void finish(std::size_t slot, Ending ending, const std::optional<Error>& error = {});
    void fail_all(const Error& error);
    void fail_one_of(const Error& error);
    void recover(const Error& error);

    SchedulerOptions options_;
    std::optional<Model> model_;  // of the scheduler's thread: another one after a loss
    const Tokenizer tokenizer_;
    const ModelInfo info_;
    const bool answers_;  // an encoder–decoder
    std::optional<Batch> batch_;
    std::int64_t context_ = 0;
    struct Slot {
        std::string owner;  ///< of the tokens that it has
        double freed = 0;
    };
    std::vector<Slot> slots_;
    std::vector<std::shared_ptr<Generation>> running_;  ///< by slot; the scheduler's thread alone changes it

    mutable std::mutex mutex_;  // of what follows, and of running_ where another thread reads it
    std::condition_variable changed_;
    Queue waiting_;
    std::deque<PostedWork> posted_;
    SchedulerCounts counts_;
    double mean_seconds_ = 1;
    std::uint64_t numbers_ = 0;
    bool compiled_ = false, recovers_ = false, lost_ = false, drains_ = false, abandons_ = false;
    std::exception_ptr failure_;
    bool drawn_since_loss_ = true;  // the scheduler's thread alone has it
    std::jthread thread_;           // last: it uses all the others
};

}  // namespace vantage::serve
