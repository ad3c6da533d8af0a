#include "viewer/panels/theme.h"

#include <cmath>

#include "runtime/picture/picture_style.h"

namespace vantage::view {
namespace {

constexpr ImU32 opaque(Rgb c) { return IM_COL32(c.r, c.g, c.b, 255); }

constexpr Palette dark_palette{.background = IM_COL32(15, 16, 21, 255),
                               .panel = opaque(style::background),
                               .raised = opaque(style::surface),
                               .line = IM_COL32(46, 50, 63, 255),
                               .faint = opaque(style::faint),
                               .ink = opaque(style::ink),
                               .strong = opaque(style::strong),
                               .accent = opaque(style::accent),
                               .good = IM_COL32(106, 200, 120, 255),
                               .bad = IM_COL32(240, 110, 96, 255),
                               .unknown = IM_COL32(30, 33, 42, 255),
                               .dark = true};

constexpr Palette light_palette{.background = IM_COL32(229, 231, 237, 255),
                                .panel = IM_COL32(250, 250, 252, 255),
                                .raised = IM_COL32(232, 234, 241, 255),
                                .line = IM_COL32(206, 210, 221, 255),
                                .faint = IM_COL32(98, 105, 124, 255),
                                .ink = IM_COL32(44, 48, 60, 255),
                                .strong = IM_COL32(14, 16, 24, 255),
                                .accent = IM_COL32(0, 124, 116, 255),
                                .good = IM_COL32(30, 130, 60, 255),
                                .bad = IM_COL32(190, 40, 40, 255),
                                .unknown = IM_COL32(236, 238, 243, 255),
                                .dark = false};

}  // namespace

const Palette& palette_of(Theme theme) { return theme == Theme::dark ? dark_palette : light_palette; }

ImU32 ink_on(Rgb colour) {
    constexpr float middle = 55;  // of CIE L*
    return lightness(colour) > middle ? IM_COL32(16, 16, 24, 255) : IM_COL32(244, 244, 250, 255);
}

ImU32 packed(Rgb colour, float alpha) {
    return IM_COL32(colour.r, colour.g, colour.b, static_cast<int>(std::lround(alpha * 255)));
}

ImU32 faded(ImU32 colour, float alpha) {
    const auto a = static_cast<ImU32>(std::lround(static_cast<float>(colour >> IM_COL32_A_SHIFT & 255u) * alpha));
    return (colour & ~IM_COL32_A_MASK) | a << IM_COL32_A_SHIFT;
}

ImVec4 unpacked(ImU32 colour) { return ImGui::ColorConvertU32ToFloat4(colour); }

void apply(const Palette& p, float scale) {
    ImGuiStyle& style = ImGui::GetStyle();
    style = ImGuiStyle();
    style.WindowRounding = style.ChildRounding = 6;
    style.FrameRounding = style.PopupRounding = style.GrabRounding = 4;
    style.WindowPadding = {12, 10};
    style.FramePadding = {8, 5};
    style.ItemSpacing = {8, 6};
    style.WindowBorderSize = style.FrameBorderSize = 0;
    style.PopupBorderSize = 1;
    style.ScrollbarSize = 10;
    style.AntiAliasedLinesUseTex = false;  // the atlas is read without a filter
    style.ScaleAllSizes(scale);
    const auto set = [&](ImGuiCol_ which, ImU32 colour, float alpha = 1) {
        style.Colors[which] = unpacked(faded(colour, alpha));
    };
    for (ImVec4& colour : style.Colors) colour = unpacked(p.raised);
    set(ImGuiCol_Text, p.ink);
    set(ImGuiCol_TextDisabled, p.faint);
    set(ImGuiCol_WindowBg, p.panel);
    set(ImGuiCol_ChildBg, p.panel, 0);
    set(ImGuiCol_PopupBg, p.panel);
    set(ImGuiCol_Border, p.line);
    set(ImGuiCol_BorderShadow, p.line, 0);
    set(ImGuiCol_MenuBarBg, p.background);
    for (const ImGuiCol_ frame : {ImGuiCol_FrameBg, ImGuiCol_Button}) set(frame, p.raised);
    for (const ImGuiCol_ hovered : {ImGuiCol_FrameBgHovered, ImGuiCol_ButtonHovered, ImGuiCol_HeaderHovered})
        set(hovered, p.line);
    for (const ImGuiCol_ active :
         {ImGuiCol_FrameBgActive, ImGuiCol_ButtonActive, ImGuiCol_HeaderActive, ImGuiCol_Header})
        set(active, p.line);
    for (const ImGuiCol_ mark : {ImGuiCol_CheckMark, ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive})
        set(mark, p.accent);
    set(ImGuiCol_TextSelectedBg, p.accent, 0.35f);
    set(ImGuiCol_Separator, p.line);
    set(ImGuiCol_ScrollbarBg, p.panel, 0);
    set(ImGuiCol_ScrollbarGrab, p.line);
    set(ImGuiCol_ScrollbarGrabHovered, p.faint);
    set(ImGuiCol_ScrollbarGrabActive, p.faint);
    set(ImGuiCol_NavHighlight, p.accent);
    set(ImGuiCol_ModalWindowDimBg, p.background, 0.6f);
}

}  // namespace vantage::view
