#include "viewer/window/keys.h"

#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>

#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

struct KnownKey {
    int glfw;
    Key key;
    EditKey edit;
};
constexpr std::array known_keys = std::to_array<KnownKey>({
    {GLFW_KEY_LEFT, Key::left, EditKey::left},
    {GLFW_KEY_RIGHT, Key::right, EditKey::right},
    {GLFW_KEY_UP, Key::up, EditKey::up},
    {GLFW_KEY_DOWN, Key::down, EditKey::down},
    {GLFW_KEY_HOME, Key::home, EditKey::home},
    {GLFW_KEY_END, Key::end, EditKey::end},
    {GLFW_KEY_PAGE_UP, Key::page_up, EditKey::none},
    {GLFW_KEY_PAGE_DOWN, Key::page_down, EditKey::none},
    {GLFW_KEY_INSERT, Key::insert, EditKey::none},
    {GLFW_KEY_DELETE, Key::remove, EditKey::remove},
    {GLFW_KEY_TAB, Key::tab, EditKey::tab},
    {GLFW_KEY_ENTER, Key::enter, EditKey::enter},
    {GLFW_KEY_KP_ENTER, Key::enter, EditKey::enter},
    {GLFW_KEY_ESCAPE, Key::escape, EditKey::escape},
    {GLFW_KEY_BACKSPACE, Key::backspace, EditKey::backspace},
    {GLFW_KEY_SPACE, Key::none, EditKey::space},
    {GLFW_KEY_A, Key::none, EditKey::a},
    {GLFW_KEY_C, Key::none, EditKey::c},
    {GLFW_KEY_V, Key::none, EditKey::v},
    {GLFW_KEY_X, Key::none, EditKey::x},
    {GLFW_KEY_Y, Key::none, EditKey::y},
    {GLFW_KEY_Z, Key::none, EditKey::z},
});

KnownKey known_key(int key) {
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12) return {key, function_key(key - GLFW_KEY_F1 + 1), EditKey::none};
    const auto found = std::ranges::find(known_keys, key, &KnownKey::glfw);
    return found != known_keys.end() ? *found : KnownKey{key, Key::none, EditKey::none};
}

/// The character of a key in the keyboard's layout, if there is one.
char32_t character_of(int key, int scancode) {
    if (key == GLFW_KEY_EQUAL || key == GLFW_KEY_KP_ADD) return U'+';
    if (key == GLFW_KEY_MINUS || key == GLFW_KEY_KP_SUBTRACT) return U'-';
    const char* name = glfwGetKeyName(key, scancode);
    if (name == nullptr || name[0] == '\0' || name[1] != '\0') return 0;  // none, or beyond ASCII
    return static_cast<char32_t>(name[0]);
}

}  // namespace

Shortcut shortcut_of(int key, int scancode, int modifiers) {
    Shortcut shortcut{.key = known_key(key).key,
                      .control = (modifiers & GLFW_MOD_CONTROL) != 0,
                      .alt = (modifiers & GLFW_MOD_ALT) != 0};
    if (shortcut.key != Key::none)
        shortcut.shift = (modifiers & GLFW_MOD_SHIFT) != 0;
    else if (shortcut.control || shortcut.alt)
        shortcut.character = character_of(key, scancode);
    else
        return {};
    return shortcut;
}

EditKey edit_key_of(int key) { return known_key(key).edit; }

void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers) {
    viewer.modifiers((modifiers & GLFW_MOD_CONTROL) != 0, (modifiers & GLFW_MOD_SHIFT) != 0,
                     (modifiers & GLFW_MOD_ALT) != 0);
    viewer.key(shortcut_of(key, scancode, modifiers), edit_key_of(key), action != GLFW_RELEASE);
}

}  // namespace vantage::view
