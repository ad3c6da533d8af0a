// Which runs come next: prompts in chunks, lanes for the sequences that draw, drawn tokens ahead of the host.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/session/device_states.h"
#include "runtime/session/plan_cache.h"
#include "runtime/session/sequence_state.h"

namespace vantage {

/// The run of a prompt that comes next: equally many rows of each of these sequences.
struct PromptRun {
    std::int64_t rows = 0;
    std::vector<std::size_t> slots;
};
/// `waiting`: tokens by sequence, 0 for those that need no run; at least one has some. `rows_for` gives the rows of the
/// run that so many tokens need first. The sequence that waits for most comes first; others join where they need as
/// many rows, so that none is padded to the need of another.
PromptRun next_prompt_run(std::span<const std::int64_t> waiting,
                          const std::function<std::int64_t(std::int64_t)>& rows_for);
/// Lanes of a run are powers of two, or as many as there are sequences: few plans serve any number. Most that `wanted`
/// sequences fill; and the fewest that hold them.
std::int64_t lanes_filled_by(std::int64_t wanted, std::int64_t sequences);
std::int64_t lanes_holding(std::int64_t wanted, std::int64_t sequences);
/// Slots for `lanes` lanes: the live ones, then others, which idle.
std::vector<std::size_t> slots_of_lanes(const std::vector<bool>& live, std::int64_t lanes);

class RunScheduler {
public:
    RunScheduler(const Model& model, const SessionOptions& options, std::vector<SequenceState>& sequences,
                 DeviceStates& states, PlanCache& plans, std::int64_t context);

    /// Whether a sequence has something to continue, and may be continued.
    bool can_continue(const SequenceState& s) const { return !s.tokens.empty() && !s.ended && s.size() < context_; }
    /// Rows of the first run when so many tokens wait.
    std::int64_t rows_for(std::int64_t waiting) const;
    static std::int64_t encoder_rows_for(std::int64_t tokens);

    /// Runs the encoder of an encoder–decoder over the texts that wait.
    void run_sources();
    /// Runs the tokens that wait, and draws none.
    void run_tokens();
    /// The next token of every sequence that can continue; valid until the next call.
    const std::vector<std::optional<std::int32_t>>& next();
    /// The logits [vocab] that the next token of a sequence is drawn from. All its tokens have run afterwards.
    std::vector<float> next_logits(std::size_t slot);
    /// The sequence draws no more; what runs already may continue it, and is not read.
    void end(std::size_t slot);

    /// Waits for all that runs; what was drawn meanwhile can still be read.
    void settle() const;
    /// Waits for all that runs, and forgets what was drawn and not read: the host's tokens are changed.
    void stop();

    SessionStats stats;
    std::vector<DispatchTiming> timings;
    std::vector<float> pixels;  ///< of the image that is seen

private:
    std::int64_t waiting(const SequenceState& s, bool draw) const;
    double filled(std::int64_t more) const;
    void map_lanes(std::vector<std::size_t> slots);
    void write_states(bool draw);
    void run_prompts(bool draw);
    void run_prompt(const PromptRun& run, bool draw);
    void run_source(const PromptRun& run);
    void collect(const Plan& plan, const PromptRun& run, std::span<const std::int64_t> rows);
    void note_timings(const Plan& plan);
    Plan& timed_plan(const PlanKey& key);
    void begin_draws();
    void choose_draw_lanes();
    void draw_all();
    void submit_draw();
    std::optional<std::int32_t> read_draw(std::size_t slot);

    const ModelConfig& config_;
    const Model& model_;
    const SessionOptions& options_;
    std::vector<SequenceState>& sequences_;
    DeviceStates& states_;
    PlanCache& plans_;
    std::int64_t context_;
    std::vector<std::size_t> lanes_;                  // by lane: its slot
    std::vector<std::uint64_t> in_flight_;            // draws, the oldest first
    bool drawing_ = false;                            // the device's steps continue where all tokens end
    std::vector<std::optional<std::int32_t>> drawn_;  // a member, so that drawing allocates nothing
};

}  // namespace vantage
