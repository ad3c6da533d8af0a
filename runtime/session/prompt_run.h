// How prompts that wait are put together in runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace vantage::internal {

/// A run of a prompt: equally many rows of each of some sequences.
struct PromptRun {
    std::int64_t rows = 0;
    std::vector<std::size_t> slots;    ///< the sequences
    std::vector<std::int64_t> counts;  ///< tokens of each of them: `rows`, or fewer and padding
    std::vector<std::size_t> lanes;    ///< the sequence of each lane; idle if it is not in `slots`
};
/// The number of lanes of decoder runs with `rows` rows, and of their encoder. Runs of one row draw tokens and have a
/// lane for each sequence. Others have as many lanes as fill a small run.
std::int64_t decoder_lanes(std::int64_t rows, std::int64_t sequences);
/// Lanes of a run that draws for `drawing` of the sequences: 1, 4, 8, 16 … and at most all.
std::int64_t drawing_lanes(std::int64_t drawing, std::int64_t sequences);
/// Lanes of an encoder's run when `wanted` sequences need so many rows: the next power of two.
std::int64_t encoder_lanes(std::int64_t rows, std::int64_t wanted, std::int64_t sequences);

/// How sequences are put together in runs.
struct RunShapes {
    /// Rows of the run that so many tokens of a sequence need first.
    std::function<std::int64_t(std::size_t slot, std::int64_t waiting)> rows;
    /// Lanes of a run with so many rows when `wanted` sequences need it.
    std::function<std::int64_t(std::int64_t rows, std::int64_t wanted)> lanes;
};
/// `waiting`: tokens of each sequence that have not run; at least one is not 0. The sequence with the most runs first.
/// Others join if they need the same number of rows, so no sequence is padded to the length of another.
PromptRun next_prompt_run(std::span<const std::int64_t> waiting, const RunShapes& shapes);
/// All runs until nothing waits.
std::vector<PromptRun> prompt_runs(std::vector<std::int64_t> waiting, const RunShapes& shapes);

}  // namespace vantage::internal
