#include "viewer/panels/widgets.h"

#include <cfloat>
#include <cmath>

#include "runtime/base/utf8.h"
#include "viewer/panels/explanations.h"

namespace vantage::view {
namespace {

thread_local TextLog* text_log = nullptr;

}  // namespace

TextLog::TextLog() { text_log = this; }
TextLog::~TextLog() { text_log = nullptr; }

void place_window(const Box& box) {
    ImGui::SetNextWindowPos({box.x, box.y});
    ImGui::SetNextWindowSize({box.wide, box.high});
}

Panel::Panel(const char* name, const Box& box, ImGuiWindowFlags more) : open_(box.wide > 0 && box.high > 0) {
    if (!open_) return;
    place_window(box);
    ImGui::Begin(name, nullptr, fixed_window | ImGuiWindowFlags_NoScrollWithMouse | more);
}

Panel::~Panel() {
    if (open_) ImGui::End();
}

bool has_mouse(const Box& box) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    return box.has(mouse.x, mouse.y);
}

bool is_pointed_at(const Box& box) { return ImGui::IsWindowHovered() && has_mouse(box); }

bool mouse_moved() { return ImGui::GetIO().MouseDelta.x != 0 || ImGui::GetIO().MouseDelta.y != 0; }

float width_of(const Face& face, std::string_view text) {
    return face.font->CalcTextSizeA(face.size, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

float put(const Face& face, float x, float y, ImU32 colour, std::string_view text, ImDrawList& list) {
    const ImVec2 at{std::round(x), std::round(y)};
    note_text(text, {at.x, at.y, width_of(face, text), face.size});
    list.AddText(face.font, face.size, at, colour, text.data(), text.data() + text.size());
    return at.x + width_of(face, text);
}

float put_right(const Face& face, float right, float y, ImU32 colour, std::string_view text) {
    const float left = right - width_of(face, text);
    put(face, left, y, colour, text);
    return left;
}

void put_middle(const Face& face, float middle, float y, ImU32 colour, std::string_view text, ImDrawList& list) {
    put(face, middle - width_of(face, text) / 2, y, colour, text, list);
}

void put_upwards(const Face& face, float middle, float bottom, ImU32 colour, std::string_view text) {
    // The text is laid out horizontally without clipping. Its vertices are then rotated about its beginning.
    const ImVec2 from{0, 0};
    const float left = std::round(middle - face.size / 2), low = std::round(bottom), wide = width_of(face, text);
    note_text(text, {left, low - wide, face.size, wide});
    ImDrawList& list = window_list();
    list.PushClipRectFullScreen();
    const int first = list.VtxBuffer.Size;
    list.AddText(face.font, face.size, from, colour, text.data(), text.data() + text.size());
    for (int i = first; i < list.VtxBuffer.Size; ++i) {
        const ImVec2 at = list.VtxBuffer[i].pos;
        list.VtxBuffer[i].pos = {left + at.y, low - at.x};
    }
    list.PopClipRect();
}

void put_wrapped(const Face& face, const Box& box, ImU32 colour, std::string_view text) {
    note_text(text, box);
    const ImVec4 clip{box.x, box.y, box.right(), box.bottom()};
    window_list().AddText(face.font, face.size, {std::round(box.x), std::round(box.y)}, colour, text.data(),
                          text.data() + text.size(), box.wide, &clip);
}

float wrapped_height(const Face& face, std::string_view text, float width) {
    return face.font->CalcTextSizeA(face.size, FLT_MAX, width, text.data(), text.data() + text.size()).y;
}

std::string fitted(const Face& face, std::string_view text, float width) {
    return longest_fitting(text, [&](std::string_view part) { return width_of(face, part) <= width; });
}

void fill(const Box& box, ImU32 colour, float rounding, ImDrawList& list) {
    list.AddRectFilled({box.x, box.y}, {box.right(), box.bottom()}, colour, rounding);
}

void outline(const Box& box, ImU32 colour, float thickness, float rounding, ImDrawList& list) {
    list.AddRect({box.x, box.y}, {box.right(), box.bottom()}, colour, rounding, 0, thickness);
}

Box box_of_item() {
    const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
    return {from.x, from.y, to.x - from.x, to.y - from.y};
}

void note_text(std::string_view text, const Box& place) {
    if (text_log != nullptr) text_log->texts.emplace_back(text), text_log->places.push_back(place);
}

void note_tooltip(const Box& box) {
    if (text_log != nullptr) text_log->explained.push_back(box);
}

void explain_number(const Ui& ui, const Box& box, std::string_view name) {
    const std::string_view text = explanation_of(name);
    if (text.empty()) return;
    note_tooltip(box);
    if (!is_pointed_at(box)) return;
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(ui.px(340));
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

float heading(const Ui& ui, const Box& box, std::string_view name, std::string_view what) {
    const float y = box.y + ui.px(10), left = box.x + ui.px(12);
    const float end = put(bold(ui), left, y, ui.palette.strong, name);
    const float room = box.right() - ui.px(12) - end - ui.px(12);
    put_right(small(ui), box.right() - ui.px(12), y + (ui.fonts.regular.size - ui.fonts.small.size) * 0.7f,
              ui.palette.faint, fitted(small(ui), what, room));
    return y + ui.fonts.regular.size + ui.px(8);
}

}  // namespace vantage::view
