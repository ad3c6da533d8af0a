// Keys of the viewer's actions, and the file in which a user says others.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "expect_error.h"
#include "viewer/panels/key_bindings.h"

using namespace vantage;
using namespace vantage::view;

TEST_CASE("shortcuts and their texts", "[view]") {
    for (const Action& action : actions()) {
        CAPTURE(action.word);
        CHECK(shortcut_named(word_of(action.shortcut)) == action.shortcut);
        if (action.shortcut == Shortcut{}) continue;  // only in a menu
        CHECK(shortcut_named(text_of(action.shortcut)) == action.shortcut);
        const auto same = [&](const Action& other) { return other.shortcut == action.shortcut; };
        CHECK(std::ranges::count_if(actions(), same) == 1);  // no key does two things
    }
    CHECK(shortcut_named("E") == Shortcut{.character = U'e'});
    CHECK(shortcut_named("Shift+e") == Shortcut{.character = U'E'});
    CHECK(shortcut_named("Ctrl+Alt+X") == Shortcut{.character = U'x', .control = true, .alt = true});
    CHECK(shortcut_named("Shift+Left") == Shortcut{.key = Key::left, .shift = true});
    CHECK(shortcut_named("Ctrl++") == Shortcut{.character = U'+', .control = true});
    CHECK(shortcut_named("+") == Shortcut{.character = U'+'});
    CHECK(shortcut_named("ß") == Shortcut{.character = U'ß'});
    CHECK(shortcut_named("none") == Shortcut{});
    for (const char* text : {"", "Ctrl+", "Up+Down", "ab", "Shift+1", "Ctrl+Shift+X", "\x80", "F13"})
        CHECK_FALSE(shortcut_named(text).has_value());
}

TEST_CASE("a user's file of keys", "[view]") {
    const auto key_of = [](const KeyBindings& keys, const char* word) { return keys.of(action_named(word)); };
    const KeyBindings defaults;
    CHECK(KeyBindings(defaults.as_file(), "keys").as_file() == defaults.as_file());
    CHECK(defaults.as_file().find("layer-up       = Up           # Previous layer\n") != std::string::npos);
    const KeyBindings own("# mine\r\n\n  theme = Ctrl+L   # light\n\tpan-left=x\nfind = #\nquit = none", "keys");
    CHECK(key_of(own, "theme") == Shortcut{.character = U'l', .control = true});
    CHECK(own.action_of({.character = U't'}) == nullptr);
    CHECK(own.action_of({.character = U'x'}) == &action_named("pan-left"));
    CHECK(key_of(own, "exclude-first") == Shortcut{});  // whose key pan-left has now
    CHECK(own.action_of({.character = U'#'}) == &action_named("find"));
    CHECK(own.action_of({}) == nullptr);
    CHECK(key_of(own, "help") == action_named("help").shortcut);
    CHECK(KeyBindings(own.as_file(), "keys").as_file() == own.as_file());
    const KeyBindings swapped("scale = m\npooling = s\n", "keys");
    CHECK(swapped.action_of({.character = U's'}) == &action_named("pooling"));
    // names of earlier releases are read; the file that is written has today's
    const KeyBindings before("telling = F2\npick-left = F3\nsink-off = F4\nbright-up = F5\nrange = F6\n", "keys");
    CHECK(key_of(before, "suggest-head") == Shortcut{.key = function_key(2)});
    CHECK(key_of(before, "select-left") == Shortcut{.key = function_key(3)});
    CHECK(key_of(before, "exclude-first") == Shortcut{.key = function_key(4)});
    CHECK(before.as_file() ==
          KeyBindings("suggest-head = F2\nselect-left = F3\nexclude-first = F4\nmaximum-up = F5\nreset-range = F6\n",
                      "keys")
              .as_file());
    CHECK(before.as_file().find("telling") == std::string::npos);
    const auto refused = [](const char* text) { return [text] { KeyBindings(text, "own/keys"); }; };
    test::expect_error(ErrorKind::usage, {"own/keys:2: there is no action \"dance\"", "vantage view --keys"},
                       refused("theme = F2\ndance = d\n"));
    test::expect_error(ErrorKind::usage, {"own/keys:1: \"Hyper+X\" is not a key", "Ctrl+X"},
                       refused("theme = Hyper+X"));
    test::expect_error(ErrorKind::usage, {"own/keys:1: \"x y\" is not a key"}, refused("theme = x y"));
    test::expect_error(ErrorKind::usage, {"own/keys:1: \"\" is not a key"}, refused("theme ="));
    test::expect_error(ErrorKind::usage, {"own/keys:3: F2 is the key of \"theme\" from own/keys:1"},
                       refused("theme = F2\n\nhelp = F2"));
    test::expect_error(ErrorKind::usage, {"own/keys:2: \"theme\" already has a key from own/keys:1"},
                       refused("theme = F2\ntheme = F3"));
    test::expect_error(ErrorKind::usage, {"own/keys:1: \"theme F2\" is not a line"}, refused("theme F2"));
}
