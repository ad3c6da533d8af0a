#include "viewer/draw/toolkit.h"

#include <imgui_freetype.h>

#include "runtime/base/at.h"

namespace vantage::view {
namespace {

void copy_to(void* clipboard, const char* text) { static_cast<Clipboard*>(clipboard)->copy(text); }
const char* paste_from(void* user) {
    auto* clipboard = static_cast<Clipboard*>(user);
    clipboard->pasted = clipboard->paste();
    return clipboard->pasted.c_str();
}

}  // namespace

ImGuiContext* make_context() {
    const ContextInUse none(nullptr);  // else the first context of a program would remain current
    ImGuiContext* const context = ImGui::CreateContext();
    ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // more than 65536 vertices in a list
    return context;
}

#if IMGUI_VERSION_NUM < 18700

void name_keys(ImGuiIO& io) {
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
}
void send_key(ImGuiIO& io, EditKey key, bool down) {
    if (key != no_edit_key) at(io.KeysDown, key) = down;
}
void send_modifiers(ImGuiIO& io, bool control, bool shift, bool alt) {
    io.KeyCtrl = control;
    io.KeyShift = shift;
    io.KeyAlt = alt;
}

#else

void name_keys(ImGuiIO&) {}
void send_key(ImGuiIO& io, EditKey key, bool down) {
    if (key != no_edit_key) io.AddKeyEvent(key, down);
}
void send_modifiers(ImGuiIO& io, bool control, bool shift, bool alt) {
#if IMGUI_VERSION_NUM < 18900
    io.AddKeyEvent(ImGuiKey_ModCtrl, control);
    io.AddKeyEvent(ImGuiKey_ModShift, shift);
    io.AddKeyEvent(ImGuiKey_ModAlt, alt);
#else
    io.AddKeyEvent(ImGuiMod_Ctrl, control);
    io.AddKeyEvent(ImGuiMod_Shift, shift);
    io.AddKeyEvent(ImGuiMod_Alt, alt);
#endif
}

#endif

#if IMGUI_VERSION_NUM < 19110

void use_clipboard(Clipboard& clipboard) {
    ImGuiIO& io = ImGui::GetIO();
    io.ClipboardUserData = &clipboard;
    io.SetClipboardTextFn = copy_to;
    io.GetClipboardTextFn = paste_from;
}

#else

void use_clipboard(Clipboard& clipboard) {
    ImGuiPlatformIO& io = ImGui::GetPlatformIO();
    io.Platform_ClipboardUserData = &clipboard;
    io.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) {
        copy_to(ImGui::GetPlatformIO().Platform_ClipboardUserData, text);
    };
    io.Platform_GetClipboardTextFn = [](ImGuiContext*) {
        return paste_from(ImGui::GetPlatformIO().Platform_ClipboardUserData);
    };
}

#endif

#if IMGUI_VERSION_NUM < 19200

void use_freetype(ImFontAtlas& atlas) {
    atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
    atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
}
bool has_glyph(ImFont* font, char32_t character) {
    return character <= IM_UNICODE_CODEPOINT_MAX &&
           font->FindGlyphNoFallback(static_cast<ImWchar>(character)) != nullptr;
}

#else

void use_freetype(ImFontAtlas& atlas) {
    atlas.SetFontLoader(ImGuiFreeType::GetFontLoader());
    atlas.FontLoaderFlags = ImGuiFreeTypeLoaderFlags_LightHinting;
}
bool has_glyph(ImFont* font, char32_t character) {
    return character <= IM_UNICODE_CODEPOINT_MAX && font->IsGlyphInFont(static_cast<ImWchar>(character));
}

#endif

}  // namespace vantage::view
