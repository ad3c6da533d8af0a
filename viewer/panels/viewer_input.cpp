// What the user does, on its way to the toolkit and to the actions.
#include "runtime/base/utf8.h"
#include "viewer/panels/areas.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {

void Viewer::hear(std::function<void(ImGuiIO&)> event, Turn turn) {
    events_.push_back({std::move(event), turn});
    touch();
}

void Viewer::pass_events() {
    bool key = false;
    while (!events_.empty() && !(key && events_.front().turn != Turn::any)) {
        key = key || events_.front().turn == Turn::key;
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
    alt_alone_ = false;
    if (button >= 0 && button < 3) hear([button, down](ImGuiIO& io) { io.MouseDown[button] = down; }, Turn::key);
}

void Viewer::scrolled(float x, float y) {
    alt_alone_ = false;
    hear([x, y](ImGuiIO& io) {
        io.MouseWheel += y;
        io.MouseWheelH += x;
    });
}

void Viewer::modifiers(bool control, bool shift, bool alt) {
    hear([=](ImGuiIO& io) { send_modifiers(io, control, shift, alt); }, Turn::not_after_key);
}

void Viewer::key(const Shortcut& shortcut, EditKey edit, bool down) {
    // Tab goes through all panels, not through the fields of one.
    if (edit != EditKey::tab)
        hear([edit, down](ImGuiIO& io) { send_key(io, edit, down); }, edit != EditKey::none ? Turn::key : Turn::any);
    if (down && edit == EditKey::v && shortcut.control && at_.typing && options_.paste) fonts_.need(options_.paste());
    touch();
    if (down) alt_alone_ = false;
    if (!down || shortcut == Shortcut{}) return;
    const Action* action = options_.keys.action_of(shortcut);
    if (at_.menu && (action == nullptr || action->run != open_or_close_menus)) return act_in_menu(*this, shortcut);
    if (at_.help && !at_.typing && act_in_help(at_, shortcut)) return;
    if (at_.typing ? action == nullptr || !action->typing : act_in_area(*this, shortcut)) return;
    if (action != nullptr) action->run(*this);
}

void Viewer::character(char32_t character) {
    touch();
    if (at_.typing) {
        // When the next picture hears of it, it is in the atlas, or known to be in no font.
        const std::string text = encode_utf8(std::u32string(1, character));
        fonts_.need(text);
        return hear([this, text](ImGuiIO& io) { io.AddInputCharactersUTF8(fonts_.in_field(text).c_str()); });
    }
    if (at_.menu) return act_in_menu(*this, character == U' ' ? Shortcut{.key = Key::enter} : Shortcut{});
    if (type_digit(*this, character)) return;
    if (const Action* action = options_.keys.action_of({.character = character})) action->run(*this);
}

void Viewer::alt_key(bool down) {
    if (!down && alt_alone_) open_or_close_menus(*this);
    alt_alone_ = down;
    touch();
}

void Viewer::focus_lost() { alt_alone_ = false; }

}  // namespace vantage::view
