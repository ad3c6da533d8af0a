// What the user does, on its way to the toolkit and to the actions.
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
    });
}

void Viewer::mouse_left() { mouse_at(-1, -1); }

void Viewer::mouse_button(int button, bool down) {
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
    hear([edit, down](ImGuiIO& io) { send_key(io, edit, down); }, edit != EditKey::none);
    if (!down || at_.typing) return;
    if (const Action* action = action_of(shortcut)) action->run(*this);
}

void Viewer::character(char32_t character) {
    touch();
    if (at_.typing) return hear([character](ImGuiIO& io) { io.AddInputCharacter(static_cast<unsigned>(character)); });
    if (const Action* action = action_of({.character = character})) action->run(*this);
}

}  // namespace vantage::view
