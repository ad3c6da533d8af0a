// Dear ImGui, which distributions package from 1.86 to 1.92: what differs between them is here and nowhere else.
#pragma once

#include <imgui.h>

#include <functional>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::view {

/// The keys that text fields want, by the toolkit's names; all others are the viewer's own (actions.h).
using EditKey = ImGuiKey;
inline constexpr auto no_edit_key = static_cast<EditKey>(-1);

/// Makes a context the current one while this lives: a program may have one of its own.
class ContextInUse : NotCopied {
public:
    explicit ContextInUse(ImGuiContext* context) : before_(ImGui::GetCurrentContext()) {
        ImGui::SetCurrentContext(context);
    }
    ~ContextInUse() { ImGui::SetCurrentContext(before_); }

private:
    ImGuiContext* before_;
};

/// A new context. The current context does not change.
ImGuiContext* make_context();

/// Tells the toolkit of a key, and of the modifiers as they are now.
void send_key(ImGuiIO& io, EditKey key, bool down);
void send_modifiers(ImGuiIO& io, bool control, bool shift, bool alt);
/// Numbers the keys, where the version wants numbers; once, after the context is made.
void name_keys(ImGuiIO& io);

/// What text fields copy to and paste from.
struct Clipboard {
    std::function<void(const std::string&)> copy;
    std::function<std::string()> paste;
    std::string pasted = {};  ///< kept while a field reads it
};
/// Of the current context, as long as which it has to live.
void use_clipboard(Clipboard& clipboard);

/// Lets the atlas be drawn by FreeType, with light hinting.
void use_freetype(ImFontAtlas& atlas);
bool has_glyph(ImFont* font, char32_t character);

}  // namespace vantage::view
