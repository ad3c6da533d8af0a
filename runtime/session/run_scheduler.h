// Which runs come next: prompts in chunks, all sequences together when tokens are drawn, draws ahead of the host.
//
// The results of a sequence do not depend on the other sequences, to the last bit: decoder runs with the same number of
// rows always have the same number of lanes, so they use the same kernels. SessionOptions::fewest_lanes gives this up.
// SessionOptions::stable extends it to batches of any size and to any history: a prompt runs alone, in chunks at
// multiples of 128 tokens, whose sizes depend on its length alone, and draws use kernels that do not depend on the
// number of lanes (Stability::rows).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/session/device_states.h"
#include "runtime/session/plan_cache.h"
#include "runtime/session/prompt_run.h"
#include "runtime/session/sequence_state.h"

namespace vantage::internal {

class RunScheduler {
public:
    RunScheduler(const Model& model, const SessionOptions& options, std::vector<SequenceState>& sequences,
                 DeviceStates& states, PlanCache& plans, std::int64_t context);

    /// Whether a sequence has something to continue, and may be continued.
    bool can_continue(const SequenceState& s) const { return !s.tokens.empty() && !s.ended && s.size() < context_; }
    /// Rows of the first run when so many tokens wait.
    std::int64_t rows_for(std::int64_t waiting) const;
    /// Rows of the encoder's run for a source of so many tokens.
    std::int64_t source_rows_for(std::int64_t tokens) const;

    /// Runs the encoder of an encoder–decoder over the texts that wait.
    void run_sources();
    /// Runs the tokens that wait, and draws none: of all sequences, or of one and nothing of the others.
    void run_tokens();
    void run_tokens(std::size_t slot);
    /// Runs what had run on a device that was lost, as it ran then.
    void run_lost() { run_lost(all_slots_); }
    /// The next token of every sequence that can continue; valid until the next call.
    const std::vector<std::optional<std::int32_t>>& next();
    /// The logits [vocab] that the next token of a sequence is drawn from. What is drawn later does not change, and
    /// nothing runs of the other sequences.
    std::vector<float> next_logits(std::size_t slot);
    /// The sequence draws no more; what runs already may continue it, and is not read.
    void end(std::size_t slot);
    /// The host's tokens of a sequence are changed: the device draws no more of it, and what was drawn and not read is
    /// forgotten. The others go on.
    void changed(std::size_t slot) {
        on_device_[slot] = false;
        states_.end(slot);
    }
    /// Before a sequence gets more tokens, or keeps `count` only. Of a stable one all tokens will be a prompt: forgets
    /// what has not run as in that prompt, which are drawn tokens and the last chunk, unless it is full.
    void forget_unfinished(std::size_t slot, std::int64_t count);
    /// Compiles the plans of draws and of prompts, so that nothing waits for them later.
    void compile_all();
    /// Waits for all that runs.
    void settle();
    /// Throws accuracy: `what` is not finite, and the node where that began.
    [[noreturn]] void fail_not_finite(std::size_t slot, const std::string& what) const;

    const SessionStats& stats() const { return stats_; }
    void set_stats(const SessionStats& stats) { stats_ = stats; }
    /// Of all runs since the last call, with SessionOptions::profile.
    std::vector<DispatchTiming> take_timings() { return std::exchange(timings_, {}); }
    const std::vector<float>& pixels() const { return pixels_; }
    void set_pixels(std::span<const float> pixels) { pixels_.assign(pixels.begin(), pixels.end()); }

private:
    RunShapes shapes() const;
    std::int64_t lanes_for(std::int64_t rows, std::int64_t wanted) const;
    std::int64_t chunk_begin(std::int64_t token) const;
    std::int64_t take_waiting(std::size_t slot);
    void count_prompt(SequenceState& s, std::int64_t count);
    std::int64_t all() const { return std::ssize(sequences_); }
    double filled(std::span<const std::size_t> slots, std::int64_t more) const;
    void set_lanes(const std::vector<std::size_t>& lanes, const std::vector<bool>& held);
    void let_all_draw() { set_lanes(all_slots_, none_); }
    void choose_drawing_lanes();
    std::vector<bool> held_beside(const PromptRun& run, bool draw) const;
    /// Its next token depends on what the host makes of the last one: a penalty or the mask of a grammar.
    bool waits_for_host(const SequenceState& s) const { return can_continue(s) && s.sampling.bias_follows_text(); }
    const std::vector<bool>& held_for_host();
    bool allow_tokens(std::size_t slot);
    void write_slot(std::size_t slot, std::int64_t left, bool done);
    std::uint64_t submit(Plan& plan, std::span<const int> segments, double filled);
    void compile_for(std::span<const PromptRun> runs);
    void run_prompts(std::span<const PromptRun> runs, bool draw);
    void run_prompt(const PromptRun& run, bool draw);
    void run_waiting(const std::vector<std::int64_t>& left, const RunShapes& shapes);
    void run_lost(std::span<const std::size_t> slots);
    void run_before_tokens(std::size_t slot);
    void run_source(const PromptRun& run);
    void run_sources_of(const std::vector<std::int64_t>& left);
    std::vector<float> logits_of_prompt(std::size_t slot);
    std::vector<float> logits_of_last(std::size_t slot, const PromptRun& run);
    void collect(const Plan& plan, const PromptRun& run);
    void require_finite(std::span<const float> results, std::size_t slot, const std::string& name) const;
    /// Whether the device has drawn the sequence's next token.
    bool is_drawn(std::size_t slot) const;
    void note_timings(const Plan& plan);
    Plan& timed_plan(const PlanKey& key);
    void begin_draws();
    void note_known();
    void draw_all();
    void submit_draw(Plan& plan);
    bool has_unread(std::size_t slot) const;
    std::optional<std::int32_t> read_draw(std::size_t slot);

    const ModelConfig& config_;
    const SessionOptions& options_;
    std::vector<SequenceState>& sequences_;
    DeviceStates& states_;
    PlanCache& plans_;
    std::int64_t context_;
    SessionStats stats_;
    std::vector<DispatchTiming> timings_;
    std::vector<float> pixels_;  // of the image that is seen

    std::uint64_t last_ = 0;                // what was submitted last
    std::vector<std::size_t> lanes_;        // by lane: its slot
    std::vector<std::size_t> drawing_;      // the lanes of draws: the slots that draw, and as many others as it takes
    std::vector<bool> has_lane_;            // by slot: it is in drawing_
    std::vector<bool> held_;                // by slot: see DeviceStates::hold
    std::vector<bool> held_for_host_;       // by slot: a member, so that drawing allocates nothing
    std::vector<bool> on_device_;           // by slot: the device's step continues where all tokens end, or ahead
    std::vector<std::uint32_t> known_;      // by slot: tokens on the device that can be read without waiting
    std::vector<std::uint64_t> in_flight_;  // draws, the oldest first
    const std::vector<std::size_t> all_slots_;
    const std::vector<bool> none_;                    // false by slot
    std::vector<std::optional<std::int32_t>> drawn_;  // a member, so that drawing allocates nothing
};

}  // namespace vantage::internal
