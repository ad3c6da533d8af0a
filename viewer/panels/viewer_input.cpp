// What the user does, on its way to the toolkit and to the actions.
#include "viewer/panels/menus.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {

void Viewer::hear(std::function<void(ImGuiIO&)> event, bool alone) {
    events_.push_back({std::move(event), alone});
    touch();
}

void Viewer::pass_events() {
    bool passed = false;
    while (!events_.empty() && !(passed && events_.front().alone)) {
        passed = passed || events_.front().alone;
        events_.front().tell(ImGui::GetIO());
        events_.pop_front();
    }
    if (!events_.empty()) touch();
}

void Viewer::mouse_at(float x, float y) {
    hear([this, x, y](ImGuiIO& io) {
        io.MousePos = {x, y};
        at_.picked.reset();
        at_.picked_token.reset();
    });
}

void Viewer::mouse_left() { mouse_at(-1, -1); }

void Viewer::mouse_button(int button, bool down) {
    at_.area.reset();
    if (button >= 0 && button < 3) hear([button, down](ImGuiIO& io) { io.MouseDown[button] = down; }, true);
}

void Viewer::scrolled(float x, float y) {
    hear([x, y](ImGuiIO& io) {
        io.MouseWheel += y;
        io.MouseWheelH += x;
    });
}

void Viewer::modifiers(bool control, bool shift, bool alt) {
    hear([=](ImGuiIO& io) { send_modifiers(io, control, shift, alt); });
}

void Viewer::key(const Shortcut& shortcut, EditKey edit, bool down) {
    // Tab goes through all panels, not through the fields of one.
    if (edit != EditKey::tab) hear([edit, down](ImGuiIO& io) { send_key(io, edit, down); }, edit != EditKey::none);
    touch();
    if (!down || shortcut == Shortcut{}) return;
    const Action* action = options_.keys.action_of(shortcut);
    if (at_.menu && (action == nullptr || action->run != open_or_close_menus)) return act_in_menu(*this, shortcut);
    if (at_.typing ? action == nullptr || !action->typing : act_in_area(*this, shortcut)) return;
    if (action != nullptr) action->run(*this);
}

void Viewer::character(char32_t character) {
    touch();
    if (at_.typing) return hear([character](ImGuiIO& io) { io.AddInputCharacter(static_cast<unsigned>(character)); });
    if (at_.menu) return act_in_menu(*this, character == U' ' ? Shortcut{.key = Key::enter} : Shortcut{});
    if (const Action* action = options_.keys.action_of({.character = character})) action->run(*this);
}

}  // namespace vantage::view
