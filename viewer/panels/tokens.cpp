// The text, shaded by the attention of the current query, with lines from the query to the tokens that it attends to
// most.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/shown_value.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr float min_wide_for_two = 420;  // of a panel that shows the texts of both runs

/// The text of a run while it is drawn into its box.
struct TextUi : Ui {
    Box box;
    RunView& of;
    const FrameData& frame;
    const LiveTokens& tokens;  ///< of A, if B reads its text
    const Version& version;    ///< of the same run
    const Slots &row_slots, &key_slots;
    const char* name;
    std::int64_t& shown_query;  ///< to which the text was scrolled
};

/// The text of one of two runs.
TextUi text_of(const Ui& ui, bool of_b, const Box& box) {
    const TwoRuns& two = *ui.focus.two;
    RunView &of = *two.runs[of_b ? 1 : 0], &text = two.comparison.own_text() ? of : *two.runs[0];
    const SideSlots& slots = two.comparison.slots(of_b);
    return {ui,
            box,
            of,
            *of.frame,
            text.tokens,
            text.version,
            slots.rows_of(ui.focus.head.kind),
            slots.keys_of(ui.focus.head.kind),
            of_b ? "B" : "A",
            ui.at.shown_queries[of_b ? 1 : 0]};
}

/// A text in the panel. Its tokens are keys, queries or both.
struct TextBlock {
    const RunningText& text;
    const Slots& slots;
    bool keys, queries;
    std::int64_t given;  ///< tokens of the prompt; the others are generated
    float top = 0;       ///< from the panel's upper left corner, before scrolling
    std::int64_t size() const { return std::ssize(text.tokens()); }
    bool has(std::int64_t token) const { return token >= 0 && token < size(); }
    Box box(std::int64_t token) const {
        Box box = at(text.tokens(), token).box;
        box.y += top;
        return box;
    }
    float bottom() const { return size() == 0 ? top : box(size() - 1).bottom(); }
};

/// The keys' text, and for cross-attention the queries' text below it: in a panel of few lines without room for lines
/// of attention between them.
std::vector<TextBlock> text_blocks(const TextUi& ui, float wide, float room) {
    const bool cross = ui.focus.head.kind == AttentionKind::cross, source = ui.focus.head.kind != AttentionKind::self;
    if (source) ui.of.running_source.update({ui.tokens.run, ui.tokens.source_texts}, ui.fonts, ui.scale, wide);
    if (!source || cross) ui.of.running_text.update({ui.tokens.run, ui.tokens.texts}, ui.fonts, ui.scale, wide);
    const std::int64_t given = ui.version.given_of(AttentionKind::self);
    const RunningText& keys = source ? ui.of.running_source : ui.of.running_text;
    std::vector<TextBlock> blocks{{keys, ui.key_slots, true, !cross, source ? std::ssize(keys.tokens()) : given}};
    if (!cross) return blocks;
    const float between = ui.px(4) + (room >= 3 * ui.px(text_line) ? ui.px(text_line) : 0);
    blocks.push_back({ui.of.running_text, ui.row_slots, false, true, given, blocks[0].bottom() + between});
    return blocks;
}

ImU32 shade_of(const Ui& ui) { return faded(ui.palette.accent, ui.palette.dark ? 0.62f : 0.5f); }

ImU32 text_colour(const TextUi& ui, std::int64_t token, std::int64_t query) {
    return ui.frame.causal && token > query ? ui.palette.faint : ui.palette.dark ? ui.palette.strong : ui.palette.ink;
}

/// Lines from the query to its top keys: arcs over one text, or lines between two.
void draw_lines(const TextUi& ui, const TextBlock& keys, const TextBlock& queries, ImVec2 origin, std::int64_t query) {
    const auto& reading = ui.frame.reading;
    if (!reading || reading->head != ui.focus.head || reading->query != query || !queries.has(query)) return;
    const Box from = queries.box(query);
    for (const CellReading::Top& top : line_strengths(ui.frame, ui.state.modifiers, query)) {
        if (!keys.has(top.key) || (top.key == query && keys.queries) || top.weight < 0.01f) continue;
        const Box to = keys.box(top.key);
        const ImVec2 a{origin.x + from.x + from.wide / 2, origin.y + from.y},
            b{origin.x + to.x + to.wide / 2, origin.y + (keys.queries ? to.y : to.bottom())};
        const float rise =
            keys.queries ? std::clamp(std::abs(a.x - b.x) * 0.12f, ui.px(6), ui.px(26)) : (a.y - b.y) / 2;
        window_list().AddBezierCubic(a, {a.x, a.y - rise}, {b.x, keys.queries ? b.y - rise : b.y + rise}, b,
                                     faded(ui.palette.accent, std::sqrt(top.weight)), ui.px(1.0f + 2.5f * top.weight));
    }
}

/// Scrolls to a new query by whole lines, unless the mouse is in the text.
void show_query(const TextUi& ui, const TextBlock& queries, float above, std::int64_t query) {
    if (query == ui.shown_query || !queries.has(query) || is_pointed_at(ui.box)) return;
    const Box box = queries.box(query);
    const float line = ui.px(text_line), y = above + box.y, top = ImGui::GetScrollY(), high = ImGui::GetWindowHeight();
    if (y < top || y + box.high > top + high) {
        ImGui::SetScrollY(std::max(0.0f, y + line - high));
        ui.at.scrolled = true;
    }
    ui.shown_query = query;
}

/// The token that arrow keys move to: along the text, or to the nearest in the next line.
std::int64_t stepped(const TextBlock& text, std::int64_t from, std::array<int, 2> step) {
    const std::int64_t last = text.size() - 1;
    std::int64_t to = std::clamp<std::int64_t>(from + step[0], 0, last);
    if (step[1] == 0) return to;
    const auto box = [&](std::int64_t token) { return text.box(token); };
    const float middle = box(from).x + box(from).wide / 2;
    while (to >= 0 && to <= last && box(to).y == box(from).y) to += step[1];
    if (to < 0 || to > last) return from;
    const float line = box(to).y;
    for (std::int64_t i = to; i >= 0 && i <= last && box(i).y == line; i += step[1])
        if (std::abs(box(i).x + box(i).wide / 2 - middle) < std::abs(box(to).x + box(to).wide / 2 - middle)) to = i;
    return to;
}

/// Draws the tokens and handles clicks on them.
void draw_block(const TextUi& ui, const TextBlock& block, ImVec2 origin, std::int64_t query) {
    const Excerpt* read = ui.frame.read.get();
    const float top = origin.y + block.top;
    const auto [first, end] = block.text.between(ui.box.y - top - 1, ui.box.bottom() - top + 1);
    for (std::int64_t i = first; i < end; ++i) {
        const RunningText::Token& token = vantage::at(block.text.tokens(), i);
        const Box at{std::round(origin.x + token.box.x), std::round(top + token.box.y), std::round(token.box.wide),
                     token.box.high};
        if (const float weight = block.keys && read != nullptr ? read->at(query, i) : NAN; !std::isnan(weight))
            fill(at, faded(shade_of(ui), ui.position(weight)));
        if (i == query && block.queries) outline(at, ui.palette.accent, 1, ui.px(3));
        put(regular(ui), at.x, at.y + ui.px(3), text_colour(ui, i, query), token.text);
        if (i >= block.given) fill({at.x, at.bottom() - ui.px(2), at.wide, ui.px(1)}, faded(ui.palette.accent, 0.6f));
        if (!is_pointed_at(at)) continue;
        const std::int64_t slot = block.slots.slot_of(i);
        if (block.queries) ui.at.token = slot;
        const bool key = !block.queries || (block.keys && ImGui::GetIO().KeyShift);
        if (ImGui::IsMouseClicked(0)) ui.state.pins = {{key ? Pin::Kind::key : Pin::Kind::query, slot}};
    }
}

std::string text_heading(const TextUi& ui) {
    const char* both = ui.box.wide < ui.px(420) ? "Texts" : "Source and text";
    return std::string(ui.focus.head.kind == AttentionKind::cross ? both : "Text") +
           (ui.focus.two ? std::string(" of ") + ui.name : "");
}

/// What the shades and lines of the text are; in a narrow panel the shades only.
std::string shading_text(const TextUi& ui, std::int64_t query) {
    const std::string of = "attention of “" + label_of(ui.of.row_labels(ui.focus.head.kind), query) + "”";
    if (ui.box.wide < ui.px(420)) return of;
    return "shaded by the " + of + " · underlined: generated";
}

/// A step of the arrow keys.
void step(const TextUi& ui, const TextBlock& queries) {
    const auto step = std::exchange(ui.at.text_step, {});
    if (step == std::array{0, 0} || queries.size() == 0) return;
    const std::int64_t query = ui.row_slots.tokens_before(ui.at.query(ui.state, ui.frame.rows));
    ui.at.picked_token =
        ui.row_slots.slot_of(stepped(queries, std::clamp<std::int64_t>(query, 0, queries.size() - 1), step));
}

/// Returns its lines, seen or not.
int draw_text(const TextUi& ui) {
    const Box& box = ui.box;
    // A row arrives one or two pictures after the request. Until then the previous one is shown, under its own name.
    const Excerpt* read = ui.frame.read.get();
    const auto asked = ui.row_slots.token(ui.at.query(ui.state, ui.frame.rows));  // nothing: only in the other text
    const std::int64_t query = asked && read != nullptr ? read->first_row : asked.value_or(-1);
    heading(ui, box, text_heading(ui), query >= 0 ? shading_text(ui, query) : "");
    ImGui::SetCursorScreenPos({box.x + ui.px(12), box.y + ui.px(text_above)});
    const float line = ui.px(text_line), room = box.high - ui.px(text_above) - ui.px(text_below) + ui.px(2);
    const ScrolledPart part(ui.name, {box.wide - ui.px(24), std::max(1.0f, std::floor(room / line)) * line});
    const std::vector<TextBlock> blocks = text_blocks(ui, box.wide - ui.px(24) - ui.px(12), room);
    const TextBlock &keys = blocks.front(), &queries = blocks.back();
    const float above = ui.state.lines && keys.queries ? line : 0;  // for arcs over the first line
    ImVec2 origin = ImGui::GetCursorScreenPos();
    origin.y += above;
    step(ui, queries);
    show_query(ui, queries, above, query);
    for (const TextBlock& block : blocks) draw_block(ui, block, origin, query);
    if (blocks.size() > 1)
        fill({origin.x, std::round(origin.y + (keys.bottom() + queries.top) / 2), box.wide - ui.px(36), ui.px(1)},
             ui.palette.line);
    if (ui.state.lines) draw_lines(ui, keys, queries, origin, query);
    const float high = above + std::max(keys.bottom(), queries.bottom()) + ui.px(4);
    ImGui::Dummy({1, high});
    return static_cast<int>(std::ceil(high / line));
}

/// The text, or those of both runs where there is room. Returns the lines of the longer one.
int draw_texts(const Ui& ui, const Box& box) {
    if (!ui.focus.two)
        return draw_text({ui, box, ui.run, *ui.run.frame, ui.run.tokens, ui.run.version, ui.focus.row_slots,
                          ui.focus.key_slots, "text", ui.at.shown_queries[0]});
    const TwoRuns& two = *ui.focus.two;
    if (two.shown != ShownRuns::both || two.frame(true) == nullptr || box.wide < ui.px(min_wide_for_two))
        return draw_text(text_of(ui, &ui.run == two.runs[1], box));
    const float half = std::floor(box.wide / 2);
    const int lines = draw_text(text_of(ui, false, {box.x, box.y, half, box.high}));
    return std::max(lines, draw_text(text_of(ui, true, {box.x + half, box.y, box.wide - half, box.high})));
}

}  // namespace

void draw_tokens(const Ui& ui) {
    const Panel panel("tokens", ui.layout.tokens);
    if (!panel) return;
    ui.at.token.reset();
    const int lines = draw_texts(ui, ui.layout.tokens);
    if (std::exchange(ui.at.text_lines, lines) != lines) ui.at.scrolled = true;  // the next picture has room for them
}

}  // namespace vantage::view
