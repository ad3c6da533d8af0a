// The image that a model sees in grey, with the attention of the current query over its patches: of a patch, or in
// cross-attention of a token of the text.
#include <algorithm>
#include <cmath>
#include <utility>

#include "params/view_draw.h"
#include "runtime/models/config.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/session/model_access.h"
#include "viewer/data/view_sources.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/shown_value.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr float over_the_picture = 0.6f;  // opacity of a weight's colour

const ImU32 bright_accent = palette_of(Theme::dark).accent;  // for both themes: the image is the background

/// Token 0 is [CLS], the others are patches, row by row.
struct Patches {
    Box box;
    std::int64_t rows, columns;
    std::int64_t count() const { return rows * columns; }
    Box of(std::int64_t token) const {
        const std::int64_t patch_row = (token - 1) / columns, patch_column = (token - 1) % columns;
        const auto row = static_cast<float>(patch_row), column = static_cast<float>(patch_column);
        const float wide = box.wide / static_cast<float>(columns), high = box.high / static_cast<float>(rows);
        const float left = std::round(box.x + column * wide), top = std::round(box.y + row * high);
        return {left, top, std::round(box.x + (column + 1) * wide) - left, std::round(box.y + (row + 1) * high) - top};
    }
};

void draw_picture(const Ui& ui, const Box& box) {
    params::ViewAreaParams p{};
    p.map = address_words(ui.surface.picture.address());
    p.left = box.x, p.top = box.y, p.pixels_wide = box.wide, p.pixels_high = box.high;
    p.columns = static_cast<float>(ui.run.tokens.seen->width);
    p.rows = static_cast<float>(ui.run.tokens.seen->height);
    ui.surface.drawings.add([p](Painter& painter) mutable {
        p.width = painter.width(), p.height = painter.height();
        painter.draw(Shading::picture, p, 6);
    });
}

/// A light line between two dark ones, visible on every image.
void mark(const Ui& ui, const Box& box, ImU32 colour) {
    outline(box.inset(-ui.px(1)), IM_COL32(0, 0, 0, 200), ui.px(3));
    outline(box, colour, ui.px(1.5f));
}

bool has_patch_queries(const Ui& ui) { return ui.run.tokens.patches_in_rows(ui.focus.head.kind); }

/// Mouse input on a token's box. In cross-attention patches are keys only.
void handle(const Ui& ui, const Box& box, std::int64_t token) {
    if (!is_pointed_at(box)) return;
    const bool queries = has_patch_queries(ui);
    if (queries) ui.at.token = token;
    if (ImGui::IsMouseClicked(0))
        ui.state.pins = {{!queries || ImGui::GetIO().KeyShift ? Pin::Kind::key : Pin::Kind::query, token}};
}

/// Lines from the query to the tokens that it attends to most.
void draw_lines_over(const Ui& ui, const Patches& patches, const Box& chip, std::int64_t query) {
    const auto& reading = ui.run.frame->reading;
    if (!reading || reading->head != ui.focus.head || reading->query != query) return;
    const auto middle = [&](std::int64_t token) {
        const Box box = token == 0 ? chip : patches.of(token);
        return ImVec2{box.x + box.wide / 2, token == 0 ? box.y : box.y + box.high / 2};
    };
    for (const CellReading::Top& top : line_strengths(*ui.run.frame, ui.state.modifiers, query)) {
        if (top.key == query || top.weight < 0.01f) continue;
        const float thick = ui.px(1.0f + 2.5f * top.weight);
        const float strength = std::sqrt(top.weight);
        window_list().AddLine(middle(query), middle(top.key), faded(IM_COL32(0, 0, 0, 200), strength),
                              thick + ui.px(2));
        window_list().AddLine(middle(query), middle(top.key), faded(bright_accent, strength), thick);
    }
}

/// [CLS] has no place in the image and is below it.
void draw_class(const Ui& ui, const Box& chip, float right, float weight, bool query) {
    const Rgb colour = colour_at(ui.state.colours, std::isnan(weight) ? 0 : ui.position(weight), ui.palette.dark);
    fill(chip, packed(colour), ui.px(3));
    put_middle(small(ui), chip.x + chip.wide / 2, chip.y + (chip.high - ui.fonts.small.size) / 2, ink_on(colour),
               label_of(ui.focus.key_labels, 0));
    const std::string text = "[CLS] token" + (std::isnan(weight) ? "" : ": " + value_text(weight, ui.state.modifiers));
    put(small(ui), chip.right() + ui.px(8), chip.y + (chip.high - ui.fonts.small.size) / 2, ui.palette.faint,
        fitted(small(ui), text, right - chip.right() - ui.px(8)));
    explain_number(ui, {chip.right(), chip.y, right - chip.right(), chip.high}, "[CLS]");
    if (query) mark(ui, chip, bright_accent);
    handle(ui, chip, 0);
}

}  // namespace

void draw_image(const Ui& ui) {
    const Box& box = ui.layout.tokens;
    const Panel panel("tokens", box);
    if (!panel) return;
    // A row arrives one or two pictures after the request. Until then the previous one is shown, under its own name.
    const Excerpt* read = ui.run.frame->read.get();
    const std::int64_t query = read != nullptr ? read->first_row : ui.at.query(ui.state, ui.run.frame->rows);
    heading(ui, box, "Image",
            query >= 0 ? "attention of “" + label_of(ui.focus.row_labels, query) + "”" : std::string());
    const Image& seen = *ui.run.tokens.seen;
    const Box picture = image_place(box, seen.width, seen.height, ui.scale);
    if (picture.high < ui.px(16)) return;
    const ImageInput& input = config_of(ui.run.live.model()).image;
    const Patches patches{picture, input.rows(), input.columns()};
    draw_picture(ui, picture);
    const auto weight = [&](std::int64_t token) { return read != nullptr ? read->at(query, token) : NAN; };
    for (std::int64_t token = 1; token <= patches.count(); ++token)
        if (const float read_there = weight(token); !std::isnan(read_there))
            fill(patches.of(token),
                 packed(colour_at(ui.state.colours, ui.position(read_there), ui.palette.dark), over_the_picture));
    if (const auto [right, down] = std::exchange(ui.at.text_step, {}); right != 0 || down != 0)
        ui.at.picked_token = std::clamp<std::int64_t>(
            ui.at.query(ui.state, ui.run.frame->rows) + right + down * (has_patch_queries(ui) ? patches.columns : 1), 0,
            std::max<std::int64_t>(ui.run.frame->rows - 1, 0));
    ui.at.token.reset();
    for (std::int64_t token = 1; token <= patches.count(); ++token) handle(ui, patches.of(token), token);
    const bool of_patch = has_patch_queries(ui);
    if (of_patch && query > 0) mark(ui, patches.of(query), bright_accent);
    if (const auto cell = ui.at.cell(); cell && ui.state.axis == KeyAxis::absolute && cell->second > 0)
        mark(ui, patches.of(cell->second), IM_COL32(255, 255, 255, 255));
    const float left = std::clamp(picture.x, box.x + ui.px(12), std::max(box.x + ui.px(12), box.right() - ui.px(236)));
    const Box chip{left, picture.bottom() + ui.px(8), ui.px(40), ui.px(22)};
    draw_class(ui, chip, box.right() - ui.px(12), weight(0), of_patch && query == 0);
    if (of_patch && ui.state.lines) draw_lines_over(ui, patches, chip, query);
}

}  // namespace vantage::view
