#include "viewer/window/keys.h"

#include "runtime/gpu/vulkan_calls.h"  // before GLFW, whose functions for Vulkan other files of a unity build use

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
    {GLFW_KEY_LEFT, Key::left, ImGuiKey_LeftArrow},
    {GLFW_KEY_RIGHT, Key::right, ImGuiKey_RightArrow},
    {GLFW_KEY_UP, Key::up, ImGuiKey_UpArrow},
    {GLFW_KEY_DOWN, Key::down, ImGuiKey_DownArrow},
    {GLFW_KEY_HOME, Key::home, ImGuiKey_Home},
    {GLFW_KEY_END, Key::end, ImGuiKey_End},
    {GLFW_KEY_PAGE_UP, Key::page_up, no_edit_key},
    {GLFW_KEY_PAGE_DOWN, Key::page_down, no_edit_key},
    {GLFW_KEY_INSERT, Key::insert, no_edit_key},
    {GLFW_KEY_DELETE, Key::remove, ImGuiKey_Delete},
    {GLFW_KEY_TAB, Key::tab, ImGuiKey_Tab},
    {GLFW_KEY_ENTER, Key::enter, ImGuiKey_Enter},
    {GLFW_KEY_KP_ENTER, Key::enter, ImGuiKey_Enter},
    {GLFW_KEY_ESCAPE, Key::escape, ImGuiKey_Escape},
    {GLFW_KEY_BACKSPACE, Key::backspace, ImGuiKey_Backspace},
    {GLFW_KEY_SPACE, Key::none, ImGuiKey_Space},
    {GLFW_KEY_A, Key::none, ImGuiKey_A},
    {GLFW_KEY_C, Key::none, ImGuiKey_C},
    {GLFW_KEY_V, Key::none, ImGuiKey_V},
    {GLFW_KEY_X, Key::none, ImGuiKey_X},
    {GLFW_KEY_Y, Key::none, ImGuiKey_Y},
    {GLFW_KEY_Z, Key::none, ImGuiKey_Z},
});

KnownKey known_key(int key) {
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12) return {key, function_key(key - GLFW_KEY_F1 + 1), no_edit_key};
    const auto found = std::ranges::find(known_keys, key, &KnownKey::glfw);
    return found != known_keys.end() ? *found : KnownKey{key, Key::none, no_edit_key};
}

/// The character of a key in the keyboard's layout, if there is one.
char32_t character_of(int key, int scancode) {
    if (key == GLFW_KEY_EQUAL || key == GLFW_KEY_KP_ADD) return U'+';
    if (key == GLFW_KEY_MINUS || key == GLFW_KEY_KP_SUBTRACT) return U'-';
    const char* name = glfwGetKeyName(key, scancode);
    if (name == nullptr || name[0] == '\0' || name[1] != '\0') return 0;  // none, or beyond ASCII
    return static_cast<char32_t>(name[0]);
}

/// Characters without Ctrl or Alt come through another callback and give no shortcut.
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

/// The modifier that a key is; 0: none.
int modifier_of(int key) {
    switch (key) {
        case GLFW_KEY_LEFT_SHIFT:
        case GLFW_KEY_RIGHT_SHIFT: return GLFW_MOD_SHIFT;
        case GLFW_KEY_LEFT_CONTROL:
        case GLFW_KEY_RIGHT_CONTROL: return GLFW_MOD_CONTROL;
        case GLFW_KEY_LEFT_ALT:
        case GLFW_KEY_RIGHT_ALT: return GLFW_MOD_ALT;
        default: return 0;
    }
}

void send_modifiers(Viewer& viewer, int modifiers) {
    viewer.modifiers((modifiers & GLFW_MOD_CONTROL) != 0, (modifiers & GLFW_MOD_SHIFT) != 0,
                     (modifiers & GLFW_MOD_ALT) != 0);
}

}  // namespace

// With the press and release of a modifier X11 reports the modifiers as they were before, other systems as they are
// after it.
void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers) {
    const int own = modifier_of(key);
    send_modifiers(viewer, action == GLFW_RELEASE ? modifiers & ~own : modifiers | own);
    viewer.key(shortcut_of(key, scancode, modifiers), known_key(key).edit, action != GLFW_RELEASE);
}

void send_button(Viewer& viewer, int button, int action, int modifiers) {
    send_modifiers(viewer, modifiers);
    viewer.mouse_button(button, action == GLFW_PRESS);
}

}  // namespace vantage::view
