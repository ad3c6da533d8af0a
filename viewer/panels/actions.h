// Everything that a user can do, in one table: menus, keys and the help are made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vantage::view {

class Viewer;

enum class Menu : std::uint8_t { file, model, heads, map, view, compare, help };
inline constexpr int menu_count = 7;
const char* name_of(Menu menu);

/// Keys that make no character.
enum class Key : std::uint8_t { none, left, right, up, down, home, end, tab, enter, escape, backspace };

/// A character as the keyboard's layout makes it, or a key that makes none, with modifiers (Shift is part of a character).
struct Shortcut {
    char32_t character = 0;
    Key key = Key::none;
    bool control = false, alt = false, shift = false;
    bool operator==(const Shortcut&) const = default;
};
/// "Shift+E", "Alt+←", "Space".
std::string text_of(const Shortcut& shortcut);

struct Action {
    const char* word;  ///< for tests and for what is bound anew
    const char* name;  ///< in menus and in the help
    Menu menu;
    Shortcut shortcut;
    void (*run)(Viewer&);
    bool (*on)(const Viewer&) = nullptr;  ///< a mark in the menu; null: it has none
    bool group = false;                   ///< a line in the menu before it
};

std::span<const Action> actions();
/// The action of a key, or null.
const Action* action_of(const Shortcut& shortcut);
/// Throws failure for a word that no action has.
const Action& action_named(const std::string& word);

}  // namespace vantage::view
