// A view as a command line, and the budget and the cache of tiles of a viewer: plain data.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "expect_error.h"
#include "runtime/inspect/head_pattern.h"
#include "viewer/data/budget.h"
#include "viewer/data/tile_store.h"
#include "viewer/data/view_state.h"

using namespace vantage;
using namespace vantage::view;

namespace {

/// The words that a shell makes of a line.
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    bool inside = false, any = false;
    std::string word;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\'') {
            inside = !inside, any = true;
        } else if (!inside && line[i] == '\\') {
            word += line[++i];
        } else if (!inside && line[i] == ' ') {
            if (any || !word.empty()) words.push_back(word);
            word.clear(), any = false;
        } else {
            word += line[i];
        }
    }
    if (any || !word.empty()) words.push_back(word);
    return words;
}

}  // namespace

TEST_CASE("a view and its command line say the same", "[view]") {
    CHECK(as_command_line({}) == "");
    ViewState state{.prompt = "it's \"here\"\n&", .sampling = {.temperature = 0.7, .top_k = 40, .seed = 11}};
    state.max_tokens = 5;
    state.head = HeadId{3, 7, AttentionKind::cross};
    state.part = Rectangle{0.5, 20, 3, 24};
    state.rows = 12;
    state.axis = KeyAxis::relative, state.pooling = CellPooling::peak;
    state.modifiers = {.sink_off = true, .over_expected = true};
    state.pins = {{Pin::Kind::query, 4}, {Pin::Kind::key, 0}};
    state.large_heads = true, state.panels = {300, 0, 120};
    state.scale = AttentionScale::linear, state.range = {0.001, 0.125}, state.colours = ColourMap::cividis;
    state.theme = Theme::light, state.statistic = HeadStatistic::induction, state.mini_maps = true;
    const std::string line = as_command_line(state);
    CHECK(line ==
          "-p 'it'\\''s \"here\"\n&' -n 5 --temp 0.7 --top-k 40 --seed 11 --layer 3 --head 7 --of cross "
          "--part 0.5:20,3:24 --rows 12 --axis relative --pool max --sink-off --over-expected --pin q4 --pin k0 "
          "--scale linear --min 0.001 --max 0.125 --colours cividis --theme light --statistic induction --mini-maps "
          "--large-heads --heads-width 300 --text-height 120");
    const ViewState again = state_from(words_of(line));
    CHECK(again == state);
    CHECK(again.prompt == state.prompt);
    CHECK(again.pins == state.pins);
    CHECK(again.part == state.part);
    CHECK(state_from({}) == ViewState{});
    ViewState two;
    two.compared = Compared{
        .prompt = "the 'other' one", .model = "models/gpt2", .weights = DType::q4_0, .precision = Precision::f32};
    two.shown = ShownRuns::difference, two.difference_max = 0.25, two.statistic = HeadStatistic::difference;
    CHECK(as_command_line(two) ==
          "--compare 'prompt=the '\\''other'\\'' one' --compare model=models/gpt2 --compare weights=q4 --compare "
          "precision=f32 --show difference --max-difference 0.25 --statistic difference");
    CHECK(state_from(words_of(as_command_line(two))).compared == two.compared);
    CHECK(state_from(words_of(as_command_line(two))) == two);
    const std::vector<OptionText> options = option_texts();
    CHECK_FALSE(std::ranges::find(options, "--pool", &OptionText::name)->value.empty());
    CHECK(std::ranges::find(options, "--lines", &OptionText::name)->value.empty());
    CHECK(std::ranges::find(options, "--png", &OptionText::name) == options.end());
    for (const auto& [statistic, kind] : {std::pair{HeadStatistic::first, HeadPattern::attention_sink},
                                          {HeadStatistic::previous, HeadPattern::previous_token},
                                          {HeadStatistic::self, HeadPattern::self},
                                          {HeadStatistic::induction, HeadPattern::induction},
                                          {HeadStatistic::duplicate, HeadPattern::duplicate_token}}) {
        const char* id = info_of(kind).id;
        CHECK(state_from(std::vector<std::string>{"--statistic", id}).statistic == statistic);
        CHECK(as_command_line({.statistic = statistic}) == std::string("--statistic ") + id);
        CHECK(std::ranges::find(options, "--statistic", &OptionText::name)->help.find(id) != std::string::npos);
    }
    CHECK(state_from(words_of("--statistic first --pool peak")) ==  // older words
          state_from(words_of("--statistic attention-sink --pool max")));
    const auto refused = [](std::vector<std::string> words) { return [words] { state_from(words); }; };
    test::expect_error(ErrorKind::usage, {"view: --pool is mean, but takes one of sum, max"},
                       refused({"--pool", "mean"}));
    test::expect_error(ErrorKind::usage, {"rows and columns from 0 such as 0:20,4:24"}, refused({"--part", "0:20"}));
    test::expect_error(ErrorKind::usage, {"--layer needs a value"}, refused({"--layer"}));
    for (const char* what : {"q4", "weights=", "colour=blue"})
        test::expect_error(ErrorKind::usage,
                           {what, "prompt=TEXT, model=DIR, weights=WORD, precision=WORD or attention-kind=KIND"},
                           refused({"--compare", what}));
    test::expect_error(
        ErrorKind::usage,
        {"--compare weights is q3, but takes one of f32, f16, bf16, q8, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4"},
        refused({"--compare", "weights=q3"}));
    test::expect_error(ErrorKind::usage, {"--show is difference, but takes a second run (--compare)"},
                       refused({"--show", "difference"}));
    test::expect_error(ErrorKind::usage, {"a second run (--compare)"}, refused({"--statistic", "difference"}));
    test::expect_error(ErrorKind::usage, {"a whole number, 0 or more"}, refused({"--layer", "-1"}));
    test::expect_error(ErrorKind::usage, {"a number, 0 or more"}, refused({"--temp", "nan"}));
    test::expect_error(ErrorKind::usage, {"view: --max is 0.2, but takes a number above --min, which is 0.3"},
                       refused({"--min", "0.3", "--max", "0.2"}));
    try {  // a prompt that slipped into another option
        state_from(std::vector<std::string>{"--layer", std::string(5000, 'x')});
        FAIL("it was taken");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).size() < 200);
    }
}

TEST_CASE("the ends of a colour bar move along its scale", "[view]") {
    for (const AttentionScale scale :
         {AttentionScale::linear, AttentionScale::square_root, AttentionScale::logarithmic}) {
        CAPTURE(name_of(scale));
        const ValueRange bar{0.04, 0.64};
        for (const double place : {0.25, 0.5, 1.3}) {  // the colours of what is moved are where it was moved to
            const double value = with_end(bar, BarEnd::bright, place, scale).max;
            if (place < 1) CHECK(std::abs(position_of(static_cast<float>(value), 0.64f, scale, 0.04f) - place) < 0.01);
            CHECK((place > 1) == (value > 0.64));
            CHECK(with_end(bar, BarEnd::dark, place, scale).min < 0.64);
        }
        CHECK(with_end({}, BarEnd::dark, -0.5, scale) == ValueRange{});  // nothing is below nothing
        CHECK(with_end(bar, BarEnd::bright, -9, scale).max > 0.04);
        CHECK(with_end(bar, BarEnd::dark, 0, scale) == bar);
        for (const ScaleTick& tick : scale_ticks(0.64f, scale, 0.04f)) CHECK(tick.value >= 0.04f * 0.9999f);
    }
    // A quarter of the way between the roots of 0.04 and 0.64.
    CHECK(std::abs(position_of(0.1225f, 0.64f, AttentionScale::square_root, 0.04f) - 0.25f) < 1e-6f);
    CHECK(std::abs(position_of(0.16f, 0.64f, AttentionScale::logarithmic, 0.04f) - 0.5f) < 1e-6f);
    CHECK(with_default_end({0.5, 4}, BarEnd::bright, {}) == ValueRange{0.5, 1});
    CHECK(with_default_end({2, 4}, BarEnd::bright, {}) == ValueRange{});
}

TEST_CASE("ratios and lengths have ends of their own on the colour bar", "[view]") {
    const std::vector<std::string> ratio{"--over-expected"}, own{"--over-expected", "--scale", "linear", "--max", "4"},
        lengths{"--value-weighted"}, both{"--value-weighted", "--row-norm"};
    const ViewState defaults = state_from(ratio);
    CHECK(defaults.range == ValueRange{1.0 / 16, 16});
    CHECK(defaults.scale == AttentionScale::logarithmic);
    CHECK(position_of(1, 16, defaults.scale, 1.0f / 16) == 0.5f);  // as expected: the middle
    CHECK(as_command_line(defaults) == "--over-expected");
    CHECK(as_command_line(state_from(own)) == "--over-expected --scale linear --max 4");
    ViewState plain = defaults;
    plain.range = {}, plain.scale = AttentionScale::square_root;
    CHECK(state_from(words_of(as_command_line(plain))) == plain);
    CHECK(state_from(lengths).range.max == 0);  // which the head has to tell
    ViewState told = state_from(lengths);
    told.range.max = 1;
    CHECK(as_command_line(told) == "--value-weighted --max 1");
    CHECK(state_from(both).range == ValueRange{});
    std::string texts;
    for (const ScaleTick& tick : bar_ticks(defaults.range, defaults.scale, defaults.modifiers))
        texts += tick.text + " ";
    CHECK(texts == "≤ ÷16 ÷4 ×1 ×4 ≥ ×16 ");
    CHECK(bar_ticks({}, AttentionScale::linear, {}).size() == 5);
}

TEST_CASE("a budget opens for its share of the time, and says what was spent", "[view]") {
    Budget budget(10.0, 0.01);  // percent; seconds in store
    double now = 5, spent = 0;
    for (int i = 0; i < 4000; ++i, now += 0.001) {  // 4 s, in which 3 ms are wanted every millisecond
        if (!budget.open(now)) continue;
        budget.spend(now, 0.003, 0.001);
        spent += 0.003;
    }
    CHECK(std::abs(spent - 0.4) < 0.02);  // 10 % of 4 s, and what was in store
    CHECK(std::abs(budget.cost(now) - 10) < 0.5);
    budget.spend(now, 0.1, 0);
    CHECK(std::abs(budget.opens_in(now) - 1.0) < 0.15);
    budget.allow(now);  // somebody waits: what was owed is forgotten, not what comes now
    CHECK(budget.open(now));
    budget.spend(now, 0.1, 0);
    CHECK(std::abs(budget.opens_in(now) - 1.0) < 0.01);
    CHECK(budget.cost(now + 10) == 0);  // nothing in the last seconds
    Budget free;
    free.spend(1, 100, 100);
    CHECK(free.open(1));
    Budget none(0.0, 0);
    CHECK_FALSE(none.open(1));
}

TEST_CASE("tiles that were not wanted for longest make room", "[view]") {
    TileStore store(2);
    const TileKey a{.head = 1, .level = 1, .row = 1}, b{.head = 2}, c{.head = 3};
    CHECK(store.make(a, 1)->done == 128);  // nothing of it: it begins at row 128
    CHECK(store.make(b, 2) != nullptr);
    store.find(a)->used = 3;
    REQUIRE(store.make(c, 3) != nullptr);  // in place of b
    CHECK(store.find(b) == nullptr);
    CHECK(store.find(a) != nullptr);
    CHECK(store.make(b, 3) == nullptr);  // all are wanted now
    CHECK(store.evicted() == 1);
    Tile tile{.done = 131, .rows = 131};
    CHECK(tile.ready(a) == 2);  // the second cell has the one row that there is
    CHECK(tile.complete(a, 131));
    CHECK_FALSE(tile.complete(a, 132));
    tile.rows = 140;
    CHECK(tile.ready(a) == 1);  // … and now lacks one
    CHECK(a.child(1, 0).row == 3);
    CHECK(a.child(1, 0).ancestor(1) == a);
}

TEST_CASE("rows that are gone take the cells with them whose means count them", "[view]") {
    const TileKey key{.level = 3, .row = 0};
    const auto cut = [&](Tile tile, std::int64_t row) {
        tile.cut(key, row);
        return std::pair(tile.done, tile.rows);
    };
    const Tile part{.done = 101, .rows = 120};  // the cell of rows 96 to 103 is made in part, by a mean of eight
    CHECK(cut(part, 130) == std::pair<std::int64_t, std::int64_t>(101, 120));
    CHECK(cut(part, 110) == std::pair<std::int64_t, std::int64_t>(101, 104));  // still of eight
    CHECK(cut(part, 102) == std::pair<std::int64_t, std::int64_t>(96, 96));    // not of eight any more
    CHECK(cut(part, 50) == std::pair<std::int64_t, std::int64_t>(48, 48));
    const TileKey later{.level = 3, .row = 1};
    Tile none{.done = later.first_row(), .rows = 0};
    none.cut(later, 3);
    CHECK(none.done == later.first_row());
}
