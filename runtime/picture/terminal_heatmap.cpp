#include "runtime/picture/terminal_heatmap.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/options.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {
namespace {

constexpr int longest_row_label = 16, longest_column_label = 10, max_rows = 60;
constexpr std::string_view leading_space = "·";
constexpr int columns_with_number = 4, default_cell = 5, min_columns = 24;

/// Nearest of the 256 terminal colours: a cube of 6 × 6 × 6 and 24 greys.
int palette_index(Rgb colour) {
    static constexpr std::array<int, 6> levels{0, 95, 135, 175, 215, 255};
    const auto nearest = [](int value) {
        const auto distance = [value](int level) { return std::abs(level - value); };
        return static_cast<int>(std::ranges::min_element(levels, {}, distance) - levels.begin());
    };
    const auto distance = [&](int r, int g, int b) {
        return (r - colour.r) * (r - colour.r) + (g - colour.g) * (g - colour.g) + (b - colour.b) * (b - colour.b);
    };
    const int r = nearest(colour.r), g = nearest(colour.g), b = nearest(colour.b);
    const int grey = std::clamp((colour.r + colour.g + colour.b) / 3 - 8 + 5, 0, 239) / 10, level = 8 + 10 * grey;
    const int of_cube = distance(at(levels, r), at(levels, g), at(levels, b));
    return distance(level, level, level) < of_cube ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

/// Builds text with colours without redundant escape codes.
class Line {
public:
    explicit Line(TerminalColours colours) : colours_(colours) {}

    void plain(const std::string& text) { put("", text); }
    void dim(const std::string& text) { put("2", text); }
    void bold(const std::string& text) { put("1", text); }
    /// Text on a background colour, with readable letters.
    void on(Rgb background, const std::string& text) {
        const Rgb letters = lightness(background) > 55.0f ? style::dark_number : style::bright_number;
        put(code(48, background) + ";" + code(38, letters), text);
    }
    void spaces(int count) { text_.append(static_cast<std::size_t>(std::max(count, 0)), ' '); }
    std::string finished() {
        put("", "\n");
        return text_;
    }

private:
    std::string code(int which, Rgb colour) const {
        if (colours_ == TerminalColours::palette) return format("{};5;{}", which, palette_index(colour));
        return format("{};2;{};{};{}", which, colour.r, colour.g, colour.b);
    }
    void put(const std::string& codes, const std::string& text) {
        if (colours_ != TerminalColours::none && codes != codes_) {
            text_ += codes.empty() || codes_.empty() ? "" : "\033[0m";
            text_ += codes.empty() ? "\033[0m" : "\033[" + codes + "m";
            codes_ = codes;
        }
        text_ += text;
    }

    TerminalColours colours_;
    std::string text_, codes_;
};

std::string centred(const std::string& text, int columns) {
    const int space = columns - column_width(text), after = space / 2;
    return std::string(static_cast<std::size_t>(space - after), ' ') + text +
           std::string(static_cast<std::size_t>(after), ' ');
}

/// Characters, each with its combining marks.
std::vector<std::string> letters_of(const std::string& label) {
    std::vector<std::string> letters;
    for (const char32_t character : decode_utf8(label)) {
        const std::string bytes = encode_utf8(std::u32string_view(&character, 1));
        if (column_width(character) == 0 && !letters.empty())
            letters.back() += bytes;
        else
            letters.push_back(bytes);
    }
    return letters;
}

struct Shade {
    const char* sign;
    float from;  ///< position on the bar
};
constexpr std::array<Shade, 5> shades{{{"·", 0.0f}, {"░", 0.15f}, {"▒", 0.4f}, {"▓", 0.6f}, {"█", 0.8f}}};

const char* shade_at(float position) {
    const char* sign = shades.front().sign;
    for (const Shade& shade : shades)
        if (position >= shade.from) sign = shade.sign;
    return sign;
}

class TerminalPainter {
public:
    TerminalPainter(const HeatmapPicture& picture, int columns, TerminalColours colours)
        : picture_(picture), columns_(std::max(columns, min_columns)), colours_(colours) {
        check_heatmap(picture);
        weights_ = pool_by_mass(picture.values, picture.rows, picture.cols, picture.rows, picture.cols);
        row_labels_ = labels_of(picture.row_labels, picture.rows, std::min(longest_row_label, columns_ / 4));
        col_labels_ = labels_of(picture.col_labels, picture.cols, longest_column_label);
        left_ = widest(row_labels_) + 1;
        choose_part();
    }

    std::string paint() const {
        std::string text = header();
        text += upright_ ? upright_labels() : vertical_labels();
        for (int row = first_row_; row < picture_.rows; ++row) text += row_line(row);
        const std::string legend = coloured() ? legend_of_colours() : legend_of_shades();
        if (!legend.empty()) text += '\n';
        return text + legend + what_is_cut();
    }

private:
    static std::vector<std::string> labels_of(const std::vector<std::string>& tokens, int count, int longest) {
        std::vector<std::string> labels;
        for (const std::string& label : token_labels(tokens)) labels.push_back(shortened(label, longest));
        for (int i = static_cast<int>(labels.size()); i < count; ++i) labels.push_back(std::to_string(i));
        return labels;
    }

    static int widest(const std::vector<std::string>& labels) {
        int width = 0;
        for (const std::string& label : labels) width = std::max(width, column_width(label));
        return width;
    }

    /// Sets the width of a cell, and the first shown key and query.
    void choose_part() {
        const int room = columns_ - left_, wide = widest(col_labels_) + 2;
        if (picture_.cols * wide <= room) {
            cell_ = std::max(wide, default_cell);
            upright_ = picture_.cols * cell_ <= room;
        }
        if (!upright_) cell_ = std::clamp(room / picture_.cols, 2, default_cell);
        const int fitting = std::max(room / cell_, 2);
        if (picture_.cols > fitting) first_col_ = picture_.cols - (fitting - 1);  // one column is for "…"
        const int rows = picture_.rows == picture_.cols ? picture_.cols - first_col_ : picture_.rows;
        first_row_ = picture_.rows - std::min(rows, max_rows);
    }

    bool numbers() const { return picture_.numbers && cell_ >= columns_with_number; }
    bool coloured() const { return colours_ != TerminalColours::none; }

    std::string header() const {
        std::string text;
        if (!picture_.title.empty()) {
            Line line(colours_);
            line.bold(shortened(without_controls(picture_.title), columns_));
            text += line.finished();
        }
        for (const std::string& line : split(picture_.caption, '\n')) text += dim_line(without_controls(line));
        return text + dim_line("rows: queries (attend) · columns: keys (attended to)");
    }

    std::string dim_line(const std::string& text) const {
        Line line(colours_);
        line.dim(shortened(text, columns_));
        return line.finished();
    }

    std::vector<std::string> shown_col_labels() const {
        std::vector<std::string> labels(col_labels_.begin() + first_col_, col_labels_.end());
        if (first_col_ > 0) labels.insert(labels.begin(), "…");
        return labels;
    }

    std::string upright_labels() const {
        Line line(colours_);
        line.spaces(left_);
        for (const std::string& label : shown_col_labels()) line.plain(centred(label, cell_));
        return line.finished();
    }

    /// Vertical labels, one letter per line, bottom-aligned above their columns.
    std::string vertical_labels() const {
        std::vector<std::vector<std::string>> stacks;
        std::size_t height = 0;
        for (std::string label : shown_col_labels()) {
            // Without the sign for a leading space, which only makes labels longer; the row labels have it.
            if (label.starts_with(leading_space) && label.size() > leading_space.size())
                label.erase(0, leading_space.size());
            stacks.push_back(letters_of(label));
            height = std::max(height, stacks.back().size());
        }
        std::string text;
        for (std::size_t y = 0; y < height; ++y) {
            Line line(colours_);
            line.spaces(left_);
            for (const auto& stack : stacks) {
                const std::size_t above = height - stack.size();
                const std::string letter = y < above ? " " : stack[y - above];
                line.spaces((cell_ - 1) / 2);
                line.plain(letter == "…" && stack.size() > 1 ? "⋮" : letter);
                line.spaces(cell_ - (cell_ - 1) / 2 - column_width(letter));
            }
            text += line.finished();
        }
        return text;
    }

    std::string row_line(int row) const {
        const std::string& label = at(row_labels_, row);
        Line line(colours_);
        line.spaces(left_ - 1 - column_width(label));
        const std::size_t sign = label.starts_with(leading_space) ? leading_space.size() : 0;
        if (sign > 0) line.dim(label.substr(0, sign));
        line.plain(label.substr(sign) + " ");
        if (first_col_ > 0) {
            double hidden = 0;
            for (int col = 0; col < first_col_; ++col) hidden += static_cast<double>(weights_.at(row, col));
            put_cell(line, static_cast<float>(hidden));
        }
        for (int col = first_col_; col < picture_.cols; ++col) {
            if (is_hidden(picture_, weights_, row, col))
                line.plain(centred("", cell_));
            else
                put_cell(line, weights_.at(row, col));
        }
        return line.finished();
    }

    void put_cell(Line& line, float value) const {
        std::string text = numbers() ? cell_text(value) : "";
        if (!coloured() && text.empty()) {
            const float position = position_of(value, picture_.value_max, picture_.scale);
            const std::string shade = std::isnan(value) ? "?" : shade_at(position);
            text = numbers() ? "·" : shade + shade;
        }
        line.on(attention_colour(picture_, value), centred(text, cell_));
    }

    /// The weights of the shades; empty if the cells have numbers.
    std::string legend_of_shades() const {
        if (numbers()) return "";
        std::string text = "weights:";
        for (const Shade& shade : shades) {
            const float from = value_at(shade.from, picture_.value_max, picture_.scale);
            text += format("  {} from {}", shade.sign, weight_text(from, 2));
        }
        return shortened(text, columns_) + '\n';
    }

    /// A colour bar with numbers.
    std::string legend_of_colours() const {
        const std::string name = std::string("  weight, ") + name_of(picture_.scale) + " scale";
        const int width = std::clamp(columns_ - left_ - column_width(name), 2, 40);
        std::string bar(static_cast<std::size_t>(width), ' ');
        int next = 0;
        for (const ScaleTick& tick : scale_ticks(picture_.value_max, picture_.scale)) {
            std::string mark = weight_text(tick.value, 2);
            if (mark.starts_with("0.")) mark.erase(0, 1);
            const int size = static_cast<int>(mark.size());
            const auto place = static_cast<int>(std::lround(tick.position * static_cast<float>(width)));
            const int at = std::min(place, width - size);
            if (at < next) continue;
            bar.replace(static_cast<std::size_t>(at), mark.size(), mark);
            next = at + size + 1;
        }
        Line line(colours_);
        line.spaces(left_);
        for (int i = 0; i < width; ++i) {
            const float position = static_cast<float>(i) / static_cast<float>(width - 1);
            line.on(colour_at(picture_.map, position), std::string(1, at(bar, i)));
        }
        if (left_ + width + column_width(name) <= columns_) line.dim(name);
        return line.finished();
    }

    std::string what_is_cut() const {
        std::string text;
        if (first_row_ > 0)
            text += dim_line(format("the last {} of {} queries", picture_.rows - first_row_, picture_.rows));
        if (first_col_ > 0)
            text += dim_line(format("the last {} of {} keys; … is the sum of the others", picture_.cols - first_col_,
                                    picture_.cols));
        return text;
    }

    const HeatmapPicture& picture_;
    int columns_ = 80;
    TerminalColours colours_;
    PooledAttention weights_;
    std::vector<std::string> row_labels_, col_labels_;
    int left_ = 0, cell_ = 2, first_row_ = 0, first_col_ = 0;
    bool upright_ = false;
};

}  // namespace

TerminalColours terminal_colours(int fd) {
    if (!colour_wanted(fd)) return TerminalColours::none;
    const std::string depth = environment("COLORTERM").value_or("");
    if (depth == "truecolor" || depth == "24bit") return TerminalColours::full;
    // These do not support 24-bit colours. Nearly all others do, and many do not say so.
    const std::string program = environment("TERM_PROGRAM").value_or(""), term = environment("TERM").value_or("");
    const bool old = program == "Apple_Terminal" || term.starts_with("screen") || term == "linux" || term == "xterm";
    return old ? TerminalColours::palette : TerminalColours::full;
}

std::string terminal_heatmap(const HeatmapPicture& picture, int columns, TerminalColours colours) {
    return TerminalPainter(picture, columns, colours).paint();
}

}  // namespace vantage::internal
