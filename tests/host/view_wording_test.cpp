// What the window calls things, and how it writes numbers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "viewer/data/live_model.h"
#include "viewer/panels/actions.h"
#include "viewer/panels/explanations.h"
#include "viewer/panels/shown_value.h"

using namespace vantage;
using namespace vantage::view;

TEST_CASE("actions have the names that other programs and papers use", "[view]") {
    std::vector<std::string> names;
    for (const Action& action : actions()) names.emplace_back(action.name);
    for (const char* name : {"Previous layer",
                             "Next layer",
                             "Previous head",
                             "Next head",
                             "Select previous query",
                             "Select next query",
                             "Select previous key",
                             "Select next key",
                             "Previous panel",
                             "Next panel",
                             "Reset colour range",
                             "Raise maximum",
                             "Lower maximum",
                             "Raise minimum",
                             "Lower minimum",
                             "Zoom in",
                             "Zoom out",
                             "Fit",
                             "1 pixel per weight",
                             "Larger interface",
                             "Smaller interface",
                             "Larger panel",
                             "Smaller panel",
                             "Automatic panel sizes",
                             "Pool zoomed-out cells by maximum",
                             "Exclude first token (attention sink), renormalised",
                             "Normalise rows by maximum",
                             "Weight by value norm ‖v‖",
                             "Relative position axis",
                             "Encoder / decoder self / cross attention",
                             "Suggest a head",
                             "Colour heads by the next statistic",
                             "Sort heads by it",
                             "Head thumbnails",
                             "Previous token",
                             "Next token",
                             "Blink A/B",
                             "Next row that does not sum to 1"}) {
        CAPTURE(name);
        CHECK(std::ranges::count(names, name) == 1);
    }
    // ---- words of the viewer's own making, which said less
    names.push_back(glossary());
    for (const char* word : {" behind",      "usual ends",
                             "right end",    "ark end",
                             "loser",        "arther",
                             "A pixel",      "verything",
                             "mass",         "ithout the first key",
                             "sink off",     "by their largest",
                             "Times the",    "Columns by",
                             "own, cross",   "class's token",
                             "most telling", "next number",
                             "that number",  "Small maps",
                             "A token on",   "back in time",
                             "in turn",      "sum is off",
                             "gfx",          "viewing costs",
                             "Σrow",         "broadcast",
                             "diffuse"}) {
        CAPTURE(word);
        CHECK(std::ranges::none_of(names, [&](const std::string& n) { return n.find(word) != std::string::npos; }));
    }
}

TEST_CASE("a run's state has the words of a player", "[view]") {
    CHECK(std::string(status_of({.activity = Activity::reading})) == "reading");
    CHECK(std::string(status_of({.activity = Activity::ended})) == "finished");
    CHECK(std::string(status_of({.stopped = true, .activity = Activity::ended})) == "stopped");
    CHECK(std::string(status_of({.stopping = true, .activity = Activity::reading})) == "stopping …");
}

TEST_CASE("values are written with the digits that tell them apart", "[view]") {
    const Modifiers plain, ratio{.over_expected = true}, weighted{.value_weighted = true};
    CHECK(value_text(0, plain) == "0");
    CHECK(value_text(1, plain) == "1.00000");
    CHECK(value_text(0.37666f, plain) == "0.37666");
    CHECK(value_text(0.0012f, plain) == "0.00120");
    CHECK(value_text(0.00012345f, plain) == "0.000123");  // never 0.00000
    CHECK(value_text(2e-7f, plain) == "2e-07");
    CHECK(value_text(1.54321f, ratio) == "1.543");
    CHECK(value_text(0.0001f, ratio) == "0.0001");
    CHECK(value_text(6.19f, weighted) == "6.19");
    CHECK(value_text(0, weighted) == "0");
}

TEST_CASE("a value is explained under every name that it can have", "[view]") {
    for (int mask = 0; mask < 16; ++mask) {
        const Modifiers modifiers{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0};
        const std::string name = weight_name(modifiers);
        for (const std::string& shown : {name, "shown: " + name, name + " in A", name + " in B"}) {
            CAPTURE(shown);
            CHECK_FALSE(explanation_of(shown).empty());
        }
    }
    for (const char* name : {"sum of 4 × 4", "shown: max of 2 × 2", "sum of 2 × 2 in B", "shown: B − A"}) {
        CAPTURE(name);
        CHECK_FALSE(explanation_of(name).empty());
    }
    CHECK(explanation_of("shown: observed / expected") == explanation_of("observed / expected"));
    CHECK(explanation_of("shown: p·‖v‖ in A") == explanation_of("p·‖v‖"));
    for (const char* name : {"prompt", "summary", "in A", "shown: "}) CHECK(explanation_of(name).empty());
}
