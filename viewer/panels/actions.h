// The table of all actions. Menus, keys and the help are made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vantage::view {

class Viewer;

enum class Menu : std::uint8_t { file, model, heads, map, view, compare, help };
inline constexpr int menu_count = 7;
const char* name_of(Menu menu);

/// Keys without a character.
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
    f12 = f1 + 11
};
/// F1 to F12.
constexpr Key function_key(int number) { return static_cast<Key>(static_cast<int>(Key::f1) + number - 1); }

/// A character of the keyboard's layout, or a key without one, with modifiers. Shift is part of a character.
struct Shortcut {
    char32_t character = 0;
    Key key = Key::none;
    bool control = false, alt = false, shift = false;
    bool operator==(const Shortcut&) const = default;
};
/// "Shift+E", "Alt+←", "Space"; empty for none.
std::string text_of(const Shortcut& shortcut);
/// The same in ASCII, for keymap files: "Alt+Left"; "none".
std::string word_of(const Shortcut& shortcut);
/// The inverse of both; nothing if the text is not a shortcut.
std::optional<Shortcut> shortcut_named(std::string_view text);

struct Action {
    const char* word;  ///< name in keymap files
    const char* name;  ///< in menus and in the help
    Menu menu;
    Shortcut shortcut;
    void (*run)(Viewer&);
    bool (*on)(const Viewer&) = nullptr;  ///< check mark in the menu; null: none
    bool group = false;                   ///< separated from the action before it
    bool typing = false;                  ///< also while a text field has the keys
    bool choice = false;                  ///< one of a list: a dot in the menu marks the current one
    /// Why it cannot be done now, or null if it can. Null: it always can.
    const char* (*refusal)(const Viewer&) = nullptr;
};

std::span<const Action> actions();
/// Why the action cannot be done now; null if it can.
const char* refusal_of(const Action& action, const Viewer& viewer);
/// Runs an action, or says why it cannot be done.
void perform(Viewer& viewer, const Action& action);
/// Throws failure for an unknown word.
const Action& action_named(const std::string& word);

}  // namespace vantage::view
