#include "runtime/session/prompt_run.h"

#include <algorithm>
#include <bit>

namespace vantage::internal {

namespace {

// Up to about so many rows a run takes a GPU as long as one row: it waits for the weights.
constexpr std::int64_t small_run = 128;
constexpr std::int64_t max_rows = 16384;  // of an encoder's run

}  // namespace

std::int64_t decoder_lanes(std::int64_t rows, std::int64_t sequences) {
    return rows == 1 ? sequences : std::clamp<std::int64_t>(small_run / rows, 1, sequences);
}

std::int64_t drawing_lanes(std::int64_t drawing, std::int64_t sequences) {
    constexpr std::int64_t few = 4;
    std::int64_t lanes = drawing <= 1 ? 1 : few;
    while (lanes < drawing) lanes *= 2;
    return std::min(lanes, sequences);
}

std::int64_t encoder_lanes(std::int64_t rows, std::int64_t wanted, std::int64_t sequences) {
    const auto lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
    return std::min(lanes, std::clamp<std::int64_t>(max_rows / rows, 1, sequences));
}

PromptRun next_prompt_run(std::span<const std::int64_t> waiting, const RunShapes& shapes) {
    const auto longest = static_cast<std::size_t>(std::ranges::max_element(waiting) - waiting.begin());
    PromptRun run{.rows = shapes.rows(longest, waiting[longest]), .slots = {}, .counts = {}, .lanes = {}};
    for (std::size_t slot = 0; slot < waiting.size(); ++slot)
        if (waiting[slot] > 0 && shapes.rows(slot, waiting[slot]) == run.rows) run.slots.push_back(slot);
    const auto lanes = static_cast<std::size_t>(shapes.lanes(run.rows, std::ssize(run.slots)));
    if (run.slots.size() > lanes) run.slots.resize(lanes);
    for (const std::size_t slot : run.slots) run.counts.push_back(std::min(waiting[slot], run.rows));
    run.lanes = run.slots;
    for (std::size_t slot = 0; run.lanes.size() < lanes; ++slot)
        if (std::ranges::count(run.slots, slot) == 0) run.lanes.push_back(slot);
    if (lanes == waiting.size()) std::ranges::sort(run.lanes);  // as those of draws: the map stays
    return run;
}

std::vector<PromptRun> prompt_runs(std::vector<std::int64_t> waiting, const RunShapes& shapes) {
    std::vector<PromptRun> runs;
    while (std::ranges::max(waiting) > 0) {
        runs.push_back(next_prompt_run(waiting, shapes));
        const PromptRun& run = runs.back();
        for (std::size_t i = 0; i < run.slots.size(); ++i) waiting[run.slots[i]] -= run.counts[i];
    }
    return runs;
}

}  // namespace vantage::internal
