// Conversion between shortcuts and text.
#include <algorithm>
#include <array>

#include "runtime/base/format.h"
#include "runtime/base/utf8.h"
#include "viewer/panels/actions.h"

namespace vantage::view {
namespace {

struct KeyName {
    Key key;
    const char *shown, *word;
};
constexpr std::array key_names = std::to_array<KeyName>({
    {Key::left, "←", "Left"},
    {Key::right, "→", "Right"},
    {Key::up, "↑", "Up"},
    {Key::down, "↓", "Down"},
    {Key::home, "Home", "Home"},
    {Key::end, "End", "End"},
    {Key::page_up, "Page ↑", "PageUp"},
    {Key::page_down, "Page ↓", "PageDown"},
    {Key::insert, "Ins", "Insert"},
    {Key::remove, "Del", "Delete"},
    {Key::tab, "Tab", "Tab"},
    {Key::enter, "Enter", "Enter"},
    {Key::escape, "Esc", "Esc"},
    {Key::backspace, "Backspace", "Backspace"},
});

std::string name_of(Key key, const char* KeyName::*name) {
    if (key >= Key::f1) return format("F{}", static_cast<int>(key) - static_cast<int>(Key::f1) + 1);
    return (*std::ranges::find(key_names, key, &KeyName::key)).*name;
}

/// Letters are written in capitals: "E" is e, "Shift+E" is E.
std::string written(const Shortcut& s, const char* KeyName::*name) {
    const bool capital = s.character >= U'A' && s.character <= U'Z';
    std::string text =
        std::string(s.control ? "Ctrl+" : "") + (s.alt ? "Alt+" : "") + (s.shift || capital ? "Shift+" : "");
    if (s.key != Key::none) return text + name_of(s.key, name);
    if (s.character == U' ') return text + "Space";
    const char32_t shown = s.character >= U'a' && s.character <= U'z' ? s.character - U'a' + U'A' : s.character;
    return text + encode_utf8(std::u32string(1, shown));
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) return false;
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

std::string text_of(const Shortcut& s) { return s == Shortcut{} ? "" : written(s, &KeyName::shown); }
std::string word_of(const Shortcut& s) { return s == Shortcut{} ? "none" : written(s, &KeyName::word); }

std::optional<Shortcut> shortcut_named(std::string_view text) {
    if (text == "none") return Shortcut{};
    Shortcut s;
    s.control = take_prefix(text, "Ctrl+");
    s.alt = take_prefix(text, "Alt+");
    s.shift = take_prefix(text, "Shift+");
    for (Key key = Key::left; key <= Key::f12; key = static_cast<Key>(static_cast<int>(key) + 1)) {
        if (text != name_of(key, &KeyName::shown) && text != name_of(key, &KeyName::word)) continue;
        s.key = key;
        return s;
    }
    const std::u32string characters = text == "Space" ? U" " : decode_utf8(text);
    if (characters.size() != 1 || characters[0] < U' ' || characters[0] == 0x7f || characters[0] == 0xfffd)
        return std::nullopt;
    const char32_t c = characters[0];
    const bool letter = (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
    // Shift is part of a character; with Ctrl or Alt only the key is known.
    if (s.shift && (!letter || s.control || s.alt)) return std::nullopt;
    s.character = !letter ? c : s.shift ? c & ~char32_t{0x20} : c | char32_t{0x20};
    s.shift = false;
    return s;
}

}  // namespace vantage::view
