#include "runtime/picture/head_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr int chart_width = 1240, min_panel = 44, max_panel = 168, bars_height = 46, key_size = 11;
constexpr TextStyle panel_note{11, style::ink, TextWeight::regular};

/// Distinct in hue and similar in lightness on the dark background (Okabe & Ito 2008, lightened). By id of the pattern.
constexpr std::array<std::pair<const char*, Rgb>, 12> pattern_colours{{{"induction", {255, 176, 59}},
                                                                       {"duplicate-token", {240, 228, 120}},
                                                                       {"previous-token", {86, 180, 233}},
                                                                       {"next-token", {120, 150, 255}},
                                                                       {"self", {190, 160, 255}},
                                                                       {"local", {60, 200, 160}},
                                                                       {"attention-sink", {213, 94, 94}},
                                                                       {"separator", {200, 140, 90}},
                                                                       {"broadcast", {226, 130, 190}},
                                                                       {"semantic", {160, 215, 80}},
                                                                       {"uniform", {142, 149, 168}},
                                                                       {"mixed", {96, 103, 122}}}};

class ChartPainter {
public:
    ChartPainter(const HeadChartPicture& picture, HeadChartLayout& layout) : picture_(picture), layout_(layout) {
        layout_ = {};
        const auto panels = static_cast<std::size_t>(std::max(0, picture.layers * picture.heads));
        if (panels == 0 || picture.panels.size() != panels)
            throw usage_error("a chart of {} layers × {} heads has {} panels", picture.layers, picture.heads,
                              picture.panels.size());
        place();
    }

    Image paint() {
        Image image(layout_.width, layout_.height, style::background);
        style::draw_header(image, {style::margin, style::margin}, picture_.title, picture_.caption,
                           layout_.width - 2 * style::margin, layout_.texts);
        for (std::size_t i = 0; i < layout_.panels.size(); ++i)
            paint_panel(image, picture_.panels[i], layout_.panels[i]);
        for (int layer = 0; layer < picture_.layers; ++layer) {
            const Rect& panel = at(layout_.panels, layer * picture_.heads);
            write(image, {style::margin, panel.y + panel.height / 2},
                  format("L{}", style::layer_of_row(picture_.layer_numbers, layer)), style::label);
        }
        for (int head = 0; head < picture_.heads; ++head) {
            const Rect& panel = at(layout_.panels, head);
            write(image, {panel.x + 2, panel.y - style::gap}, format("H{}", head), style::label);
        }
        paint_key(image);
        return image;
    }

private:
    void write(Image& image, Point at, const std::string& text, const TextStyle& style) {
        layout_.texts.push_back({text, TextRaster::shared().draw(image, at, text, style)});
    }

    void place() {
        const int left = style::margin + TextRaster::shared().measure("L00", style::label).width + style::gap;
        const int panel = std::clamp(chart_width / picture_.heads - style::gap, min_panel, max_panel);
        const int height = bars_height + style::text_height(panel_note) + 10;
        layout_.width = std::max(left + picture_.heads * (panel + style::gap) + style::margin, 560);
        const int top = style::margin +
                        style::header_height(picture_.title, picture_.caption, layout_.width - 2 * style::margin) +
                        style::text_height(style::label) + style::gap;
        for (int layer = 0; layer < picture_.layers; ++layer)
            for (int head = 0; head < picture_.heads; ++head)
                layout_.panels.push_back(
                    {left + head * (panel + style::gap), top + layer * (height + style::gap), panel, height});
        key_y_ = layout_.panels.back().bottom() + 2 * style::gap;
        layout_.height = key_y_ + 2 * (style::text_height(style::caption) + style::gap) + style::margin;
    }

    void paint_panel(Image& image, const HeadPanel& panel, const Rect& at) {
        const Rgb colour = pattern_colour(panel.pattern);
        fill(image, at, style::surface);
        const double share = 0.25 + 0.75 * std::clamp(panel.score, 0.0, 1.0);
        frame(image, at, mixed(style::line, colour, static_cast<float>(share)), 2);
        TextStyle letters = panel_note;
        letters.colour = colour;
        const int room = at.width - 10;
        write(image, {at.x + 5, at.y + 4 + style::text_height(letters) * 3 / 4},
              TextRaster::shared().fitted(panel.note, letters, room), letters);
        if (panel.bars.empty()) return;
        // the maximum of the tokens in each column
        const auto bars = static_cast<int>(panel.bars.size()), columns = std::min(bars, room);
        for (int column = 0; column < columns; ++column) {
            const int first = column * bars / columns, end = (column + 1) * bars / columns;
            const double highest = *std::max_element(panel.bars.begin() + first, panel.bars.begin() + end);
            const int height = static_cast<int>(std::lround(std::clamp(highest, 0.0, 1.0) * bars_height));
            const int x = at.x + 5 + column * room / columns, next = at.x + 5 + (column + 1) * room / columns;
            fill(image, {x, at.bottom() - 4 - height, std::max(1, next - x - (next - x > 2 ? 1 : 0)), height}, colour);
        }
    }

    /// The legend.
    void paint_key(Image& image) {
        const TextRaster& raster = TextRaster::shared();
        int x = layout_.panels.front().x;
        std::set<std::string> there;
        for (const HeadPanel& panel : picture_.panels) there.insert(panel.pattern);
        for (const auto& [name, colour] : pattern_colours) {
            if (there.count(name) == 0) continue;
            fill(image, {x, key_y_ + 2, key_size, key_size}, colour);
            write(image, {x + key_size + 5, key_y_ + key_size + 1}, name, style::caption);
            x += key_size + raster.measure(name, style::caption).width + 22;
        }
        write(image, {layout_.panels.front().x, key_y_ + style::text_height(style::caption) + style::gap + key_size},
              "bars: mean attention that each token receives from the queries that see it, 0 to 1", style::caption);
    }

    const HeadChartPicture& picture_;
    HeadChartLayout& layout_;
    int key_y_ = 0;
};

}  // namespace

Rgb pattern_colour(const std::string& pattern) {
    for (const auto& [name, colour] : pattern_colours)
        if (pattern == name) return colour;
    return style::faint;
}

Image draw_head_chart(const HeadChartPicture& picture, HeadChartLayout* layout) {
    HeadChartLayout own;
    HeadChartLayout& used = layout == nullptr ? own : *layout;
    return ChartPainter(picture, used).paint();
}

}  // namespace vantage::internal
