#include "viewer/window/keys.h"

#include <GLFW/glfw3.h>

#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

Key key_of(int key) {
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12)
        return static_cast<Key>(static_cast<int>(Key::f1) + key - GLFW_KEY_F1);
    switch (key) {
        case GLFW_KEY_LEFT: return Key::left;
        case GLFW_KEY_RIGHT: return Key::right;
        case GLFW_KEY_UP: return Key::up;
        case GLFW_KEY_DOWN: return Key::down;
        case GLFW_KEY_HOME: return Key::home;
        case GLFW_KEY_END: return Key::end;
        case GLFW_KEY_PAGE_UP: return Key::page_up;
        case GLFW_KEY_PAGE_DOWN: return Key::page_down;
        case GLFW_KEY_INSERT: return Key::insert;
        case GLFW_KEY_DELETE: return Key::remove;
        case GLFW_KEY_TAB: return Key::tab;
        case GLFW_KEY_ENTER:
        case GLFW_KEY_KP_ENTER: return Key::enter;
        case GLFW_KEY_ESCAPE: return Key::escape;
        case GLFW_KEY_BACKSPACE: return Key::backspace;
        default: return Key::none;
    }
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
    Shortcut shortcut{
        .key = key_of(key), .control = (modifiers & GLFW_MOD_CONTROL) != 0, .alt = (modifiers & GLFW_MOD_ALT) != 0};
    if (shortcut.key != Key::none)
        shortcut.shift = (modifiers & GLFW_MOD_SHIFT) != 0;
    else if (shortcut.control || shortcut.alt)
        shortcut.character = character_of(key, scancode);
    else
        return {};
    return shortcut;
}

EditKey edit_key_of(int key) {
    switch (key) {
        case GLFW_KEY_TAB: return EditKey::tab;
        case GLFW_KEY_LEFT: return EditKey::left;
        case GLFW_KEY_RIGHT: return EditKey::right;
        case GLFW_KEY_UP: return EditKey::up;
        case GLFW_KEY_DOWN: return EditKey::down;
        case GLFW_KEY_HOME: return EditKey::home;
        case GLFW_KEY_END: return EditKey::end;
        case GLFW_KEY_DELETE: return EditKey::remove;
        case GLFW_KEY_BACKSPACE: return EditKey::backspace;
        case GLFW_KEY_ENTER:
        case GLFW_KEY_KP_ENTER: return EditKey::enter;
        case GLFW_KEY_ESCAPE: return EditKey::escape;
        case GLFW_KEY_SPACE: return EditKey::space;
        case GLFW_KEY_A: return EditKey::a;
        case GLFW_KEY_C: return EditKey::c;
        case GLFW_KEY_V: return EditKey::v;
        case GLFW_KEY_X: return EditKey::x;
        case GLFW_KEY_Y: return EditKey::y;
        case GLFW_KEY_Z: return EditKey::z;
        default: return EditKey::none;
    }
}

void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers) {
    viewer.modifiers((modifiers & GLFW_MOD_CONTROL) != 0, (modifiers & GLFW_MOD_SHIFT) != 0,
                     (modifiers & GLFW_MOD_ALT) != 0);
    viewer.key(shortcut_of(key, scancode, modifiers), edit_key_of(key), action != GLFW_RELEASE);
}

}  // namespace vantage::view
