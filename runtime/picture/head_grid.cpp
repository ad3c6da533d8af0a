#include "runtime/picture/head_grid.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace vantage::internal {
namespace {

constexpr int default_width = 1240, default_height = 1400;  // pixels of all maps together, if their number allows
constexpr int smallest_map = 20, largest_map = 172;
constexpr TextStyle note_style{11, style::faint, TextWeight::regular};

void check(const HeadGridPicture& picture) {
    if (picture.layers < 1 || picture.heads < 1 || picture.rows < 1 || picture.cols < 1 || !picture.weights) {
        throw usage_error("head grid: {} layers × {} heads with maps of {} × {} is empty", picture.layers,
                          picture.heads, picture.rows, picture.cols);
    }
    const auto maps = static_cast<std::size_t>(picture.layers) * static_cast<std::size_t>(picture.heads);
    if (!picture.notes.empty() && picture.notes.size() != maps)
        throw usage_error("head grid: {} maps, but {} notes", maps, picture.notes.size());
    if (picture.salient_row >= picture.layers || picture.salient_head >= picture.heads) {
        throw usage_error("head grid: the framed head, layer {}, head {}, is outside of {} × {}", picture.salient_row,
                          picture.salient_head, picture.layers, picture.heads);
    }
}

/// One axis of the small maps: number and size of the cells, tokens per cell.
struct Side {
    int factor = 1, cells = 1, cell = 1;
    int pixels() const { return cells * cell; }
};

/// May use slightly more than `room` if that avoids a step of pooling.
Side side_of(int tokens, int room) {
    Side side;
    const int maximum = room + room / 4;
    side.factor = (tokens + maximum - 1) / maximum;
    side.cells = (tokens + side.factor - 1) / side.factor;
    side.cell = std::max(1, room / side.cells);
    return side;
}

class GridPainter {
public:
    GridPainter(const HeadGridPicture& picture, HeadGridLayout& layout) : picture_(picture), layout_(layout) {
        check(picture);
        layout_ = {};
        place();
    }

    Image paint() {
        Image image(layout_.width, layout_.height, style::background);
        style::draw_header(image, {style::margin, style::margin}, picture_.title, picture_.caption,
                           layout_.width - 2 * style::margin, layout_.other_texts);
        for (int layer = 0; layer < picture_.layers; ++layer)
            for (int head = 0; head < picture_.heads; ++head) paint_map(image, layer, head);
        paint_labels(image);
        paint_axis_titles(image);
        const Rect& first = layout_.maps.front();
        style::draw_colour_bar(image, {layout_.maps.back().right() + style::gap_before_bar, first.y}, bar_height_,
                               picture_, exceeded_, layout_.other_texts);
        paint_footer(image);
        return image;
    }

private:
    bool framed(int layer, int head) const { return layer == picture_.salient_row && head == picture_.salient_head; }
    bool any_framed() const { return picture_.salient_row >= 0 && picture_.salient_head >= 0; }
    std::size_t index(int layer, int head) const { return static_cast<std::size_t>(layer * picture_.heads + head); }

    void place() {
        const TextRaster& raster = TextRaster::shared();
        const int room =
            std::clamp(std::min(default_width / picture_.heads, default_height / picture_.layers) - style::gap,
                       smallest_map, largest_map);
        across_ = side_of(picture_.cols, room);
        down_ = side_of(picture_.rows, room);
        space_ = room >= 48 ? style::gap : style::gap / 2;
        notes_shown_ = !picture_.notes.empty() && std::ranges::all_of(picture_.notes, [&](const std::string& note) {
            return raster.measure(note, note_style).width <= across_.pixels();
        });
        const int note_height = notes_shown_ ? style::text_height(note_style) + 4 : 0;

        const int line = style::text_height(style::axis);
        const int label_width =
            raster
                .measure(format("L{}", style::layer_of_row(picture_.layer_numbers, picture_.layers - 1)), bold_label())
                .width;
        const int x = style::margin + line + style::gap + label_width + style::gap;
        const int right = x + picture_.heads * (across_.pixels() + space_) - space_;
        layout_.width = right + style::gap_before_bar + style::colour_bar_width(picture_, true) + style::margin;
        layout_.width = std::max(layout_.width, 460);
        const int header = style::header_height(picture_.title, picture_.caption, layout_.width - 2 * style::margin);
        const int y = style::margin + header + 2 * (line + style::gap);
        for (int layer = 0; layer < picture_.layers; ++layer) {
            for (int head = 0; head < picture_.heads; ++head) {
                layout_.maps.push_back({x + head * (across_.pixels() + space_),
                                        y + layer * (down_.pixels() + note_height + space_), across_.pixels(),
                                        down_.pixels()});
            }
        }
        bar_height_ = std::max(layout_.maps.back().bottom() - y, style::colour_bar_min_height);
        layout_.height =
            std::max(layout_.maps.back().bottom() + note_height + (any_framed() ? 2 * style::gap + line : 0),
                     y + bar_height_) +
            style::margin;
    }

    void paint_map(Image& image, int layer, int head) {
        const std::vector<float> values = picture_.weights(layer, head);
        const PooledAttention weights = pool_by_mass(values, picture_.rows, picture_.cols, down_.cells, across_.cells);
        for (const float value : weights.values) exceeded_ = exceeded_ || value > picture_.value_max * 1.0005f;
        const Rect& map = layout_.maps[index(layer, head)];
        draw_cells(image, {map.x, map.y}, weights, picture_, across_.cell, down_.cell, 0);
        if (framed(layer, head))
            frame(image, map.grown(3), style::accent, 2);
        else
            frame(image, map.grown(1), style::line);
        if (!notes_shown_) return;
        const TextRaster& raster = TextRaster::shared();
        TextStyle how = note_style;
        if (framed(layer, head)) how.colour = style::accent;
        const std::string& note = picture_.notes[index(layer, head)];
        const TextExtent extent = raster.measure(note, how);
        const Point at{map.x + (map.width - extent.width) / 2, map.bottom() + 5 + extent.ascent};
        layout_.other_texts.push_back({note, raster.draw(image, at, note, how)});
    }

    static TextStyle bold_label() {
        TextStyle bold = style::label;
        bold.weight = TextWeight::bold;
        return bold;
    }

    /// Layer and head number of the framed head are emphasized.
    static TextStyle label_style(bool salient) {
        if (!salient) return style::label;
        TextStyle bold = bold_label();
        bold.colour = style::accent;
        return bold;
    }

    void paint_labels(Image& image) {
        const TextRaster& raster = TextRaster::shared();
        for (int layer = 0; layer < picture_.layers; ++layer) {
            const TextStyle how = label_style(any_framed() && layer == picture_.salient_row);
            const std::string text = format("L{}", style::layer_of_row(picture_.layer_numbers, layer));
            const TextExtent extent = raster.measure(text, how);
            const Rect& map = layout_.maps[index(layer, 0)];
            const Point at{map.x - style::gap - 2 - extent.width, map.y + map.height / 2 + extent.ascent * 3 / 8};
            layout_.layer_labels.push_back({text, raster.draw(image, at, text, how)});
        }
        const int widest = raster.measure(format("H{}", picture_.heads - 1), bold_label()).width;
        const int step = (widest + 3 + across_.pixels() + space_ - 1) / (across_.pixels() + space_);
        for (int head = 0; head < picture_.heads; head += step) {
            const TextStyle how = label_style(any_framed() && head == picture_.salient_head);
            const std::string text = format("H{}", head);
            const TextExtent extent = raster.measure(text, how);
            const Rect& map = layout_.maps[index(0, head)];
            const Point at{map.x + (map.width - extent.width) / 2, map.y - style::gap - extent.descent + 1};
            layout_.head_labels.push_back({text, raster.draw(image, at, text, how)});
        }
    }

    void paint_axis_titles(Image& image) {
        const TextRaster& raster = TextRaster::shared();
        const Rect &first = layout_.maps.front(), &last = layout_.maps.back();
        const TextExtent across = raster.measure("head", style::axis), down = raster.measure("layer", style::axis);
        const Point above{(first.x + last.right() - across.width) / 2,
                          first.y - 2 * style::gap - across.height() - across.descent};
        layout_.other_texts.push_back({"head", raster.draw(image, above, "head", style::axis)});
        const Point beside{style::margin + down.ascent, (first.y + last.bottom() + down.width) / 2};
        layout_.other_texts.push_back({"layer", raster.draw_upwards(image, beside, "layer", style::axis)});
    }

    void paint_footer(Image& image) {
        if (!any_framed()) return;
        const TextRaster& raster = TextRaster::shared();
        std::string text =
            format("layer {} · head {}", style::layer_of_row(picture_.layer_numbers, picture_.salient_row),
                   picture_.salient_head);
        if (!picture_.salient_reason.empty()) text += ": " + picture_.salient_reason;
        const int left = layout_.maps.front().x, baseline = layout_.height - style::margin;
        frame(image, {left - 1, baseline - 11, 13, 13}, style::accent, 2);
        text = raster.fitted(text, style::label, layout_.width - style::margin - left - 21);
        layout_.other_texts.push_back({text, raster.draw(image, {left + 21, baseline}, text, style::label)});
    }

    const HeadGridPicture& picture_;
    HeadGridLayout& layout_;
    Side across_, down_;
    int space_ = style::gap, bar_height_ = 0;
    bool notes_shown_ = false;
    bool exceeded_ = false;  ///< some weights are larger than the maximum
};

}  // namespace

Image draw_head_grid(const HeadGridPicture& picture, HeadGridLayout* layout) {
    HeadGridLayout own;
    return GridPainter(picture, layout != nullptr ? *layout : own).paint();
}

PngTexts texts_of(const HeadGridPicture& picture) {
    std::string salient = "none";
    if (picture.salient_row >= 0)
        salient = format("layer {}, head {}", style::layer_of_row(picture.layer_numbers, picture.salient_row),
                         picture.salient_head);
    return {
        {"Title", picture.title},
        {"Description", picture.caption},
        {"Software", "Vantage"},
        {"Vantage-Map", format("{} layers × {} heads, {} queries × {} keys, {}", picture.layers, picture.heads,
                               picture.rows, picture.cols, picture.causal ? "causal" : "not causal")},
        {"Vantage-Framed", salient},
        {"Vantage-Scale", format("{}, 0 to {:g}", name_of(picture.scale), picture.value_max)},
        {"Vantage-Colours", name_of(picture.map)},
        {"Vantage-Pooling", "mass: sum over keys, mean over queries"},
    };
}

}  // namespace vantage::internal
