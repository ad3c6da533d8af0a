// Which runs come next: prompts that need as many rows share one, nobody is padded to the need of another.
#include "runtime/session/run_scheduler.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

using namespace vantage;

namespace {

using SlotList = std::vector<std::size_t>;

// Chunks of 8, then of what is left.
std::int64_t eight(std::int64_t waiting) { return waiting > 1 ? 8 : 1; }

}  // namespace

TEST_CASE("a long prompt runs apart from sequences that wait for one token", "[batch]") {
    std::vector<std::int64_t> waiting(16, 1);
    waiting[9] = 512;
    const auto whole = [](std::int64_t tokens) { return tokens > 1 ? std::int64_t{512} : 1; };
    const PromptRun first = next_prompt_run(waiting, whole);
    CHECK((first.rows == 512 && first.slots == SlotList{9}));
    waiting[9] = 0;
    std::int64_t rows = 512, runs = 1;
    while (std::ranges::max(waiting) > 0) {
        const PromptRun run = next_prompt_run(waiting, whole);
        CHECK(run.rows == 1);
        for (const std::size_t slot : run.slots) {
            CHECK(waiting[slot] == 1);
            waiting[slot] = 0;
        }
        rows += run.rows * std::ssize(run.slots), ++runs;
    }
    CHECK(rows == 512 + 15);
    CHECK(runs == 5);  // 8, 4, 2 and 1 lanes
}

TEST_CASE("sequences that need equally many rows share a run", "[batch]") {
    CHECK(next_prompt_run(std::vector<std::int64_t>{21, 1, 6, 0}, eight).slots == SlotList{0, 2});
    CHECK(next_prompt_run(std::vector<std::int64_t>{3, 4, 5}, eight).slots == SlotList{0, 1, 2});  // all of them
    CHECK(next_prompt_run(std::vector<std::int64_t>{3, 4, 5, 1}, eight).slots == SlotList{0, 1});
    const auto many = [](std::int64_t) { return std::int64_t{8192}; };
    CHECK(next_prompt_run(std::vector<std::int64_t>(8, 9), many).slots.size() == 2);  // rows of a run are limited
    const auto huge = [](std::int64_t) { return std::int64_t{65536}; };
    CHECK(next_prompt_run(std::vector<std::int64_t>(8, 9), huge).slots.size() == 1);
}

TEST_CASE("lanes are powers of two or all sequences, the live ones first", "[batch]") {
    CHECK((lanes_holding(1, 6) == 1 && lanes_holding(3, 6) == 4 && lanes_holding(5, 6) == 6));
    CHECK((lanes_filled_by(1, 6) == 1 && lanes_filled_by(5, 6) == 4 && lanes_filled_by(6, 6) == 6));
    CHECK(slots_of_lanes({false, true, false, true, true}, 4) == SlotList{1, 3, 4, 0});
}

TEST_CASE("a sequence keeps the results of the tokens that it keeps", "[session]") {
    ModelConfig config;
    config.layers = 1, config.width = 2, config.vocab = 3;
    SequenceState s(config);
    s.append(std::vector<std::int32_t>{5, 6, 7}, {});
    CHECK((s.waiting() == 3 && s.types == std::vector<std::int32_t>(3)));
    s.processed = 3;
    s.results.logits.assign(9, 1);
    for (std::vector<float>& stream : s.results.hidden) stream.assign(6, 1);
    s.truncate(2);
    CHECK((s.processed == 2 && s.forgotten == 1 && s.results.logits.size() == 6));
    CHECK(s.results.hidden.back().size() == 4);
    s.sampling.seed = 9;
    s.restart();
    CHECK((s.tokens.empty() && s.waiting() == 0 && s.results.logits.empty() && s.sampling.seed == 9));
}
