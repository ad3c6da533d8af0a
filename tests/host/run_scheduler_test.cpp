// Which runs come next: prompts that need as many rows share one, nobody is padded to the need of another.
#include "runtime/session/run_scheduler.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

using namespace vantage;

namespace {

using SlotList = std::vector<std::size_t>;

std::int64_t eight(std::size_t, std::int64_t waiting) {
    return waiting > 1 ? 8 : 1;
}  // chunks of 8, then of what is left
std::int64_t whole(std::size_t, std::int64_t waiting) { return waiting > 1 ? 512 : 1; }

RunShapes decoder_shapes(std::int64_t (*rows)(std::size_t, std::int64_t), std::int64_t sequences) {
    return {rows, [=](std::int64_t each, std::int64_t) { return decoder_lanes(each, sequences); }};
}
RunShapes encoder_shapes(std::int64_t (*rows)(std::size_t, std::int64_t), std::int64_t sequences) {
    return {rows, [=](std::int64_t each, std::int64_t wanted) { return encoder_lanes(each, wanted, sequences); }};
}

}  // namespace

TEST_CASE("a long prompt runs apart from sequences that wait for one token", "[batch]") {
    std::vector<std::int64_t> waiting(16, 1);
    waiting[9] = 512;
    const std::vector<PromptRun> runs = prompt_runs(waiting, decoder_shapes(whole, 16));
    REQUIRE(runs.size() == 2);
    CHECK((runs[0].rows == 512 && runs[0].slots == SlotList{9} && runs[0].lanes == SlotList{9}));
    CHECK((runs[1].rows == 1 && runs[1].slots.size() == 15 && runs[1].lanes.size() == 16));
    CHECK(std::ranges::is_sorted(runs[1].lanes));
}

TEST_CASE("sequences that need equally many rows share a run", "[batch]") {
    const PromptRun run = next_prompt_run(std::vector<std::int64_t>{21, 1, 6, 0}, decoder_shapes(eight, 4));
    CHECK((run.slots == SlotList{0, 2} && run.lanes == SlotList{0, 1, 2, 3}));
    // which of 20 they are does not change the number of lanes
    for (const std::size_t waits : {1u, 3u, 20u}) {
        std::vector<std::int64_t> waiting(20);
        std::fill_n(waiting.end() - static_cast<std::ptrdiff_t>(waits), waits, 5);
        const PromptRun some = next_prompt_run(waiting, decoder_shapes(eight, 20));
        CHECK((some.lanes.size() == 16 && some.slots.size() == std::min<std::size_t>(waits, 16)));
        CHECK(std::ranges::equal(some.slots, std::span(some.lanes).first(some.slots.size())));
    }
}

TEST_CASE("lanes of a decoder's run depend on its rows only, an encoder's waste less than half", "[batch]") {
    CHECK((decoder_lanes(1, 6) == 6 && decoder_lanes(8, 6) == 6 && decoder_lanes(8, 60) == 16));
    CHECK((decoder_lanes(32, 60) == 4 && decoder_lanes(512, 60) == 1));
    CHECK((encoder_lanes(8, 1, 6) == 1 && encoder_lanes(8, 3, 6) == 4 && encoder_lanes(8, 5, 6) == 6));
    const auto many = [](std::size_t, std::int64_t) { return std::int64_t{8192}; };
    CHECK(next_prompt_run(std::vector<std::int64_t>(8, 9), encoder_shapes(many, 8)).slots.size() == 2);
    const auto huge = [](std::size_t, std::int64_t) { return std::int64_t{65536}; };
    CHECK(next_prompt_run(std::vector<std::int64_t>(8, 9), encoder_shapes(huge, 8)).slots.size() == 1);
    const PromptRun three = next_prompt_run(std::vector<std::int64_t>{3, 4, 5, 1}, encoder_shapes(eight, 4));
    CHECK((three.slots == SlotList{0, 1, 2} && three.lanes.size() == 4));
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
    CHECK(s.prompt == 2);
    s.tokens.push_back(8), s.types.push_back(0);  // drawn
    s.processed = 3;
    s.truncate(3);
    CHECK((s.prompt == 2 && s.processed == 3));  // all stays as it is
    s.forget_from(s.prompt);
    CHECK((s.processed == 2 && s.waiting() == 1));
    s.append(std::vector<std::int32_t>{1}, {});
    CHECK(s.prompt == 4);
    s.sampling.seed = 9;
    s.restart();
    CHECK((s.tokens.empty() && s.waiting() == 0 && s.results.logits.empty() && s.sampling.seed == 9));
}

TEST_CASE("after a loss tokens run again in the runs that they ran in", "[session]") {
    ModelConfig config;
    config.layers = 1, config.width = 2, config.vocab = 3;
    SequenceState s(config);
    s.append(std::vector<std::int32_t>(20), {});
    s.note_run(8, 8, true);
    s.note_run(5, 8, true);
    CHECK((s.processed == 13 && s.redraw_from == 8));
    s.processed += 3;  // drawn one by one
    s.note_run(4, 8, false);
    CHECK((s.processed == 20 && s.redraw_from == 19));
    s.lose();
    CHECK((s.waiting() == 20 && s.lost == 20));
    const std::vector<ChunkRun> want{{0, 8, 8}, {8, 5, 8}, {13, 3, 1}, {16, 4, 8}};
    for (const ChunkRun& run : want) {
        CHECK(s.next_lost() == run);
        if (run.first == 8) s.lose();  // once more, before all have run again
        while (s.processed < run.first) s.note_run(s.next_lost().count, s.next_lost().rows, false);
        s.note_run(run.count, run.rows, false);
    }
    CHECK((s.next_lost().count == 0 && s.redraw_from == 19));
    s.truncate(10);
    s.lose();
    s.note_run(8, 8, false);
    CHECK((s.next_lost() == ChunkRun{8, 2, 8} && s.lost == 10));
    s.note_run(2, 8, false);
    s.lost = 0;
    s.append(std::vector<std::int32_t>(1), {});
    s.note_run(1, 1, true);
    s.lose();
    s.note_run(8, 8, false);
    s.note_run(2, 8, false);
    CHECK(s.next_lost() == ChunkRun{10, 1, 1});
    s.restart();
    CHECK((s.lost == 0 && s.next_lost().count == 0));
}
