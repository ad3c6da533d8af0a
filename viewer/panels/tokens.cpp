// The text, each token shaded by how much the query at hand reads it, and lines from that query to what it reads most.
#include <algorithm>
#include <cmath>

#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

ImU32 shade_of(const Ui& ui) { return faded(ui.palette.accent, ui.palette.dark ? 0.62f : 0.5f); }

ImU32 text_colour(const Ui& ui, std::int64_t token, std::int64_t query) {
    return ui.data.causal && token > query ? ui.palette.faint : ui.palette.dark ? ui.palette.strong : ui.palette.ink;
}

/// Arcs above the text from the query to the keys that it reads most.
void draw_lines(const Ui& ui, ImDrawList& list, const std::vector<RunningText::Token>& placed, ImVec2 origin,
                std::int64_t query) {
    const auto& reading = ui.data.reading;
    if (!reading || reading->query != query || query >= std::ssize(placed)) return;
    const Box& from = placed[static_cast<std::size_t>(query)].box;
    for (const CellReading::Top& top : reading->top) {
        if (top.key < 0 || top.key >= std::ssize(placed) || top.key == query || top.weight < 0.01f) continue;
        const Box& to = placed[static_cast<std::size_t>(top.key)].box;
        const ImVec2 a{origin.x + from.x + from.wide / 2, origin.y + from.y},
            b{origin.x + to.x + to.wide / 2, origin.y + to.y};
        const float rise = std::clamp(std::abs(a.x - b.x) * 0.12f, ui.px(6), ui.px(26));
        list.AddBezierCubic(a, {a.x, a.y - rise}, {b.x, b.y - rise}, b, faded(ui.palette.accent, std::sqrt(top.weight)),
                            ui.px(1.0f + 2.5f * top.weight));
    }
}

/// Scrolls to the query when it is another than before, not while the mouse is in the text.
void show_query(Ui& ui, const std::vector<RunningText::Token>& placed, std::int64_t query) {
    if (query == ui.at.shown_query || query < 0 || query >= std::ssize(placed) || ui.at.token) return;
    const Box& box = placed[static_cast<std::size_t>(query)].box;
    const float top = ImGui::GetScrollY(), high = ImGui::GetWindowHeight();
    if (box.y < top || box.bottom() > top + high) ImGui::SetScrollY(std::max(0.0f, box.bottom() + ui.px(6) - high));
    ui.at.shown_query = query;
}

/// Where the arrow keys take the token at hand: along the text, or to the nearest of the next line.
std::int64_t stepped(const std::vector<RunningText::Token>& placed, std::int64_t from, std::array<int, 2> step) {
    const std::int64_t last = std::ssize(placed) - 1;
    std::int64_t to = std::clamp<std::int64_t>(from + step[0], 0, last);
    if (step[1] == 0) return to;
    const auto box = [&](std::int64_t token) -> const Box& { return placed[static_cast<std::size_t>(token)].box; };
    const float middle = box(from).x + box(from).wide / 2;
    while (to >= 0 && to <= last && box(to).y == box(from).y) to += step[1];
    if (to < 0 || to > last) return from;
    const float line = box(to).y;
    for (std::int64_t i = to; i >= 0 && i <= last && box(i).y == line; i += step[1])
        if (std::abs(box(i).x + box(i).wide / 2 - middle) < std::abs(box(to).x + box(to).wide / 2 - middle)) to = i;
    return to;
}

}  // namespace

void draw_tokens(Ui& ui) {
    const Box& box = ui.layout.tokens;
    const Panel panel(ui, "tokens", box);
    if (!panel) return;
    // A row comes a picture or two after it was asked for: until then the one before is shown, under its own name.
    const Excerpt* read = ui.data.read.get();
    const std::int64_t query = read != nullptr ? read->first_row : ui.row_slots.token(ui.query()).value_or(-1);
    const std::int64_t row = ui.row_slots.slot_of(query);
    const bool cross = ui.head.of == AttentionOf::cross;  // then the text is what is read, and none of it is a query
    {
        ImDrawList& list = *ImGui::GetWindowDrawList();
        const std::string what = query >= 0 ? "shaded by what “" + label_of(ui.row_labels(), row) + "” reads" : "";
        const bool b = ui.beside != nullptr && ui.beside->shown == Shown::b;
        heading(ui, list, box, ui.beside == nullptr ? "Text" : b ? "Text of B" : "Text of A", what);
    }
    ImGui::SetCursorScreenPos({box.x + ui.px(12), box.y + ui.px(36)});
    ImGui::BeginChild("running text", {box.wide - ui.px(24), box.high - ui.px(44)});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto& texts = ui.head.of == AttentionOf::self ? ui.tokens.texts : ui.tokens.source_texts;
    ui.running_text.update({ui.tokens.run, texts}, ui.fonts, ui.scale, box.wide - ui.px(24) - ui.px(12));
    const std::vector<RunningText::Token>& placed = ui.running_text.tokens();
    ImVec2 origin = ImGui::GetCursorScreenPos();
    if (ui.state.lines) origin.y += ui.px(24);  // room for the arcs above the first line
    if (const auto step = std::exchange(ui.at.text_step, {}); step != std::array{0, 0} && !placed.empty() && !cross)
        ui.at.picked_token = ui.row_slots.slot_of(stepped(
            placed, std::clamp<std::int64_t>(ui.row_slots.tokens_before(ui.query()), 0, std::ssize(placed) - 1), step));
    show_query(ui, placed, query);
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    ui.at.token.reset();
    const auto [first, end] = ui.running_text.between(box.y - origin.y - 1, box.bottom() - origin.y + 1);
    for (std::int64_t i = first; i < end; ++i) {
        const RunningText::Token& token = placed[static_cast<std::size_t>(i)];
        const Box at{std::round(origin.x + token.box.x), std::round(origin.y + token.box.y), std::round(token.box.wide),
                     token.box.high};
        if (const float weight = read != nullptr ? read->at(query, i) : NAN; !std::isnan(weight))
            fill(list, at, faded(shade_of(ui), ui.position(weight)));
        if (i == query && !cross) outline(list, at, ui.palette.accent, 1, ui.px(3));
        put(list, regular(ui), at.x, at.y + ui.px(3), text_colour(ui, i, query), token.text);
        if (ImGui::IsWindowHovered() && at.has(mouse.x, mouse.y)) {
            const std::int64_t slot = ui.key_slots.slot_of(i);
            if (!cross) ui.at.token = slot;
            if (ImGui::IsMouseClicked(0))
                ui.state.pins = {{cross || ImGui::GetIO().KeyShift ? Pin::Kind::key : Pin::Kind::query, slot}};
        }
    }
    if (ui.state.lines) draw_lines(ui, list, placed, origin, query);
    if (!placed.empty()) {
        ImGui::Dummy({1, placed.back().box.bottom() + origin.y - ImGui::GetCursorScreenPos().y});
    }
    ImGui::EndChild();
}

}  // namespace vantage::view
