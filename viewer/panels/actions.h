// Everything that a user can do, in one table: menus, keys and the help are made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vantage::view {

class ViewCommands;

enum class Menu : std::uint8_t { file, model, heads, map, view, compare, help };
inline constexpr int menu_count = 7;
const char* name_of(Menu menu);

/// Keys that make no character.
enum class Key : std::uint8_t {
    none,
    left,
    right,
    up,
    down,
    home,
    end,
    page_up,
    page_down,
    insert,
    remove,
    tab,
    enter,
    escape,
    backspace,
    f1,
    f2,
    f3,
    f4,
    f5,
    f6,
    f7,
    f8,
    f9,
    f10,
    f11,
    f12
};

/// A character as the keyboard's layout makes it, or a key that makes none, with modifiers (Shift is part of a character).
struct Shortcut {
    char32_t character = 0;
    Key key = Key::none;
    bool control = false, alt = false, shift = false;
    bool operator==(const Shortcut&) const = default;
};
/// "Shift+E", "Alt+←", "Space"; empty for none.
std::string text_of(const Shortcut& shortcut);
/// The same in letters that every keyboard has, "Alt+Left"; "none".
std::string word_of(const Shortcut& shortcut);
/// The inverse of both; nothing where the text is no shortcut.
std::optional<Shortcut> shortcut_named(std::string_view text);

struct Action {
    const char* word;  ///< for tests and for what is bound anew
    const char* name;  ///< in menus and in the help
    Menu menu;
    Shortcut shortcut;
    void (*run)(ViewCommands&);
    bool (*on)(const ViewCommands&) = nullptr;  ///< a mark in the menu; null: it has none
    bool group = false;                         ///< a line in the menu before it
    bool typing = false;                        ///< also while a text is being typed
};

std::span<const Action> actions();
/// Throws failure for a word that no action has.
const Action& action_named(const std::string& word);

}  // namespace vantage::view
