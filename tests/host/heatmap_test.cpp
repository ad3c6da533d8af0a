// Pictures of attention: files, colours, letters, maps, and the terminal.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/base/at.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/head_grid.h"
#include "runtime/picture/heatmap.h"
#include "runtime/picture/png.h"
#include "runtime/picture/shown_text.h"
#include "runtime/picture/terminal_heatmap.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/error.h"

using namespace vantage;

namespace {

/// Causal attention rows that sum to 1.
std::vector<float> causal_attention(int tokens, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    std::vector<float> values(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(tokens));
    for (int row = 0; row < tokens; ++row) {
        float* line = values.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(tokens);
        for (int col = 0; col <= row; ++col) line[col] = std::pow(uniform(random), 4.0f) + 1e-3f;
        const float sum = std::accumulate(line, line + row + 1, 0.0f);
        for (int col = 0; col <= row; ++col) line[col] /= sum;
    }
    return values;
}

std::vector<std::string> numbered_labels(int count) {
    static const std::vector<std::string> words{"Once",   " upon", " a",   " time",  " there", " was",  " a",
                                                " small", " ex",   "pect", "ations", "\n",     " 日本", "."};
    std::vector<std::string> tokens;
    tokens.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) tokens.push_back(words[static_cast<std::size_t>(i) % words.size()]);
    return tokens;
}

HeatmapPicture picture_of(const std::vector<float>& values, int tokens) {
    HeatmapPicture picture;
    picture.rows = picture.cols = tokens;
    picture.values = values;
    picture.row_labels = picture.col_labels = numbered_labels(tokens);
    picture.title = "layer 1 · head 0";
    picture.caption = "mini-world · “Once upon a time”";
    picture.causal = true;
    return picture;
}

/// Index of the colour, or −1.
int index_of(ColourMap map, Rgb colour) {
    const ColourTable& table = colours_of(map);
    const auto found = std::find(table.begin(), table.end(), colour);
    return found == table.end() ? -1 : static_cast<int>(found - table.begin());
}

int count_overlaps(const std::vector<style::PlacedText>& texts) {
    int overlaps = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        for (std::size_t j = i + 1; j < texts.size(); ++j) overlaps += texts[i].box.overlaps(texts[j].box) ? 1 : 0;
    }
    return overlaps;
}

std::vector<style::PlacedText> all_texts(const HeatmapLayout& layout) {
    std::vector<style::PlacedText> all = layout.row_labels;
    all.insert(all.end(), layout.col_labels.begin(), layout.col_labels.end());
    all.insert(all.end(), layout.other_texts.begin(), layout.other_texts.end());
    return all;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

std::string without_escapes(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\033') {
            plain += text[i];
        } else {
            i = text.find('m', i);
        }
    }
    return plain;
}

}  // namespace

TEST_CASE("PNG files keep pixels and texts", "[io]") {
    Image image(37, 11, Rgb{1, 2, 3});
    std::mt19937 random(7);
    for (std::uint8_t& byte : image.rgb) byte = static_cast<std::uint8_t>(random());
    const PngTexts texts{{"Title", "layer 1"}, {"Vantage-Prompt", "“日本” · 😀\nnext line"}, {"Empty", ""}};
    const test::TemporaryDirectory directory;
    write_png(directory.path("a.png"), image, texts);
    const PngContent content = read_png(directory.path("a.png"));
    CHECK(content.image.width == 37);
    CHECK(content.image.height == 11);
    CHECK(content.image.rgb == image.rgb);
    CHECK(content.texts == texts);
    CHECK(directory.entries() == 1);
}

TEST_CASE("texts that PNG cannot hold are made to fit", "[io]") {
    const test::TemporaryDirectory directory;
    const PngTexts texts{{"Prompt", std::string("a\0b\xff", 4)}};
    write_png(directory.path("a.png"), Image(1, 1, {}), texts);
    CHECK(read_png(directory.path("a.png")).texts == PngTexts{{"Prompt", "ab\xef\xbf\xbd"}});
    CHECK_THROWS_AS(encode_png(Image(1, 1, {}), {{std::string(80, 'k'), "x"}}), Error);
}

TEST_CASE("damaged PNG files are refused", "[io]") {
    const test::TemporaryDirectory directory;
    const std::string good = encode_png(Image(20, 20, Rgb{9, 9, 9}), {{"Title", "x"}}), path = directory.path("a.png");
    for (std::size_t size = 0; size + 12 < good.size(); ++size) {  // without the last 12 bytes the picture is whole
        write_file(path, good.substr(0, size));
        CHECK_THROWS_AS(read_png(path), Error);
    }
    write_file(path, std::string("no picture"));
    CHECK_THROWS_AS(read_png(path), Error);
    CHECK_THROWS_AS(read_png(directory.path("missing.png")), Error);
    CHECK_THROWS_AS(write_png(test::TemporaryDirectory().path("nowhere/a.png"), Image(1, 1, {})), Error);
}

TEST_CASE("colour maps grow lighter in even steps", "[io]") {
    for (const ColourMap map : {ColourMap::magma, ColourMap::viridis, ColourMap::cividis, ColourMap::grey}) {
        INFO(name_of(map));
        const ColourTable& table = colours_of(map);
        const float range = lightness(table.back()) - lightness(table.front());
        CHECK(range > 70.0f);
        for (std::size_t i = 16; i < table.size(); ++i) {
            const float rise = lightness(table[i]) - lightness(table[i - 16]);
            CHECK(rise > 0.4f * range * 16 / 255);
            CHECK(rise < 1.6f * range * 16 / 255);
        }
        for (std::size_t i = 1; i < table.size(); ++i) {
            CHECK(lightness(table[i]) >= lightness(table[i - 1]) - 0.3f);
            CHECK((i < 2 || table[i] != table[i - 2]));  // the published 8-bit tables have pairs, too
        }
        CHECK(colour_at(map, -1.0f) == table.front());
        CHECK(colour_at(map, std::numeric_limits<float>::quiet_NaN()) == table.front());
        CHECK(colour_at(map, 7.0f) == table.back());
        CHECK(colours_of(map, false).front() == table.back());  // zero is close to a light background, too
        CHECK(colour_at(map, 1.0f, false) == table.front());
    }
}

TEST_CASE("known colours of the published maps", "[io]") {
    CHECK(colours_of(ColourMap::magma)[0] == Rgb{0, 0, 4});
    CHECK(colours_of(ColourMap::magma)[255] == Rgb{252, 253, 191});
    CHECK(colours_of(ColourMap::viridis)[0] == Rgb{68, 1, 84});
    CHECK(colours_of(ColourMap::viridis)[255] == Rgb{253, 231, 37});
    const Rgb middle = colours_of(ColourMap::magma)[128];  // published: 183, 55, 121
    CHECK((std::abs(middle.r - 183) <= 1 && std::abs(middle.g - 55) <= 1 && std::abs(middle.b - 121) <= 1));
}

TEST_CASE("scales have inverses and their ticks are in order", "[io]") {
    for (const AttentionScale scale :
         {AttentionScale::square_root, AttentionScale::linear, AttentionScale::logarithmic}) {
        for (const float value_max : {1.0f, 0.3f, 12.0f}) {
            for (const float share : {0.001f, 0.02f, 0.3f, 0.77f, 1.0f}) {
                const float value = share * value_max;
                CHECK(std::abs(value_at(position_of(value, value_max, scale), value_max, scale) - value) <
                      1e-4f * value_max);
            }
            CHECK(position_of(0.0f, value_max, scale) == 0.0f);
            CHECK(position_of(value_max * 2, value_max, scale) == 1.0f);
            const std::vector<ScaleTick> ticks = scale_ticks(value_max, scale);
            for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i].position > ticks[i - 1].position);
            CHECK(ticks.back().position == 1.0f);
        }
    }
    CHECK(weight_text(0.25f, 2) == "0.25");
    CHECK(weight_text(1.0f, 2) == "1");
    CHECK(weight_text(10.0f, 0) == "10");
    CHECK(weight_text(0.0001f, 4) == "1e-4");
}

TEST_CASE("pooled rows keep their sums", "[io]") {
    const int tokens = 331;
    const std::vector<float> values = causal_attention(tokens);
    const PooledAttention pooled = pool_by_mass(values, tokens, tokens, 100, 50);
    CHECK(pooled.row_factor == 4);
    CHECK(pooled.col_factor == 7);
    CHECK(pooled.rows == 83);
    CHECK(pooled.cols == 48);
    float worst = 0;
    for (int row = 0; row < pooled.rows; ++row) {
        float sum = 0;
        for (int col = 0; col < pooled.cols; ++col) sum += pooled.at(row, col);
        worst = std::max(worst, std::abs(sum - 1.0f));
    }
    CHECK(worst < 1e-5f);
    const PooledAttention same = pool_by_mass(values, tokens, tokens, tokens, tokens);
    CHECK(same.values == values);
    CHECK_THROWS_AS(pool_by_mass(values, tokens, tokens + 1, 10, 10), Error);
    CHECK_THROWS_AS(pool_by_mass({}, 0, 0, 10, 10), Error);
}

TEST_CASE("a drawn map gives its weights back", "[io]") {
    for (const int tokens : {1, 3, 14, 60, 200}) {
        for (const AttentionScale scale :
             {AttentionScale::square_root, AttentionScale::linear, AttentionScale::logarithmic}) {
            INFO(tokens << " tokens, " << name_of(scale));
            const std::vector<float> values = causal_attention(tokens);
            HeatmapPicture picture = picture_of(values, tokens);
            picture.scale = scale;
            HeatmapLayout layout;
            const Image image = draw_heatmap(picture, &layout);
            int unknown = 0;
            float worst = 0;
            for (int row = 0; row < tokens; ++row) {
                for (int col = 0; col <= row; ++col) {
                    const Rect cell = layout.cell(row, col);
                    const int index = index_of(picture.map, image.at(cell.x, cell.y));
                    const float expected =
                        position_of(values[static_cast<std::size_t>(row) * static_cast<std::size_t>(tokens) +
                                           static_cast<std::size_t>(col)],
                                    picture.value_max, scale);
                    unknown += index < 0 ? 1 : 0;
                    worst = std::max(worst, std::abs(static_cast<float>(index) / 255.0f - expected));
                }
                if (row + 1 < tokens) {
                    const Rect hidden = layout.cell(row, row + 1);
                    unknown += image.at(hidden.x, hidden.y) == style::surface ? 0 : 1;
                }
            }
            CHECK(unknown == 0);
            CHECK(worst <= 0.5f / 255.0f + 1e-6f);
        }
    }
}

TEST_CASE("labels do not overlap, and stay inside of the picture", "[io]") {
    for (const int tokens : {1, 2, 4, 14, 30, 47, 60, 200, 700, 1501}) {
        INFO(tokens << " tokens");
        const std::vector<float> values = causal_attention(tokens);
        const HeatmapPicture picture = picture_of(values, tokens);
        HeatmapLayout layout;
        const Image image = draw_heatmap(picture, &layout);
        CHECK(image.width == layout.width);
        CHECK(image.height == layout.height);
        const std::vector<style::PlacedText> texts = all_texts(layout);
        CHECK(count_overlaps(texts) == 0);
        const auto inside = [&](const style::PlacedText& text) {
            return Rect{0, 0, image.width, image.height}.contains(text.box) && !text.box.overlaps(layout.map);
        };
        CHECK(std::all_of(texts.begin(), texts.end(), inside));
        CHECK(layout.row_labels.size() == layout.col_labels.size());
        CHECK_FALSE(layout.row_labels.empty());
        if (tokens <= 30) CHECK(layout.row_labels.size() == static_cast<std::size_t>(tokens));
        CHECK(layout.cell_width >= 1);
        CHECK(layout.map.width <= max_heatmap_cells);
    }
}

TEST_CASE("maps of few queries, without labels, with odd numbers", "[io]") {
    std::vector<float> values(3 * 40, 1.0f / 40);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    values[6] = 1.5f;
    HeatmapPicture picture;
    picture.rows = 3;
    picture.cols = 40;
    picture.values = values;
    picture.causal = true;
    HeatmapLayout layout;
    const Image image = draw_heatmap(picture, &layout);
    const Rect broken = layout.cell(0, 5), last_of_first = layout.cell(0, 39), last = layout.cell(2, 39);
    CHECK(image.at(broken.x, broken.y) == style::not_a_number);
    CHECK(image.at(last_of_first.x, last_of_first.y) == style::surface);
    CHECK(index_of(picture.map, image.at(last.x, last.y)) >= 0);
    CHECK(count_overlaps(all_texts(layout)) == 0);
    std::string notes;
    for (const auto& text : layout.other_texts) notes += text.text + "|";
    CHECK(test::contains(notes, "not a number"));
    CHECK(test::contains(notes, "≥ 1|"));
}

TEST_CASE("heatmaps refuse what does not fit together", "[io]") {
    const std::vector<float> values(6, 0.5f);
    HeatmapPicture picture;
    picture.rows = 2;
    picture.cols = 3;
    picture.values = values;
    draw_heatmap(picture);
    HeatmapPicture wrong = picture;
    wrong.cols = 4;
    CHECK_THROWS_AS(draw_heatmap(wrong), Error);
    CHECK_THROWS_AS(terminal_heatmap(wrong, 80, TerminalColours::none), Error);
    wrong = picture;
    wrong.row_labels = {"one"};
    CHECK_THROWS_AS(draw_heatmap(wrong), Error);
    wrong = picture;
    const std::vector<float> zeros(4, 0.0f), some{0.0f, 0.25f, 0.125f};
    CHECK(scale_end(zeros) == 1.0f);
    CHECK(scale_end(some) == 0.25f);
    wrong.value_max = 0.0f;
    CHECK_THROWS_AS(draw_heatmap(wrong), Error);
    wrong = picture;
    wrong.rows = wrong.cols = 0;
    wrong.values = {};
    CHECK_THROWS_AS(draw_heatmap(wrong), Error);
}

TEST_CASE("the grid shows every head where it belongs", "[io]") {
    HeadGridPicture picture;
    picture.layers = 3;
    picture.heads = 5;
    picture.rows = picture.cols = 9;
    picture.weights = [](int layer, int head) {
        return std::vector<float>(81, static_cast<float>(layer * 5 + head) / 15.0f);
    };
    picture.salient_row = 1;
    picture.salient_head = 3;
    picture.salient_reason = "reads what followed last time";
    picture.title = "heads";
    picture.notes.assign(15, "0.5");
    HeadGridLayout layout;
    const Image image = draw_head_grid(picture, &layout);
    REQUIRE(layout.maps.size() == 15);
    CHECK(layout.layer_labels.size() == 3);
    CHECK(layout.head_labels.size() == 5);
    for (int i = 0; i < 15; ++i) {
        const Rect& map = at(layout.maps, i);
        const int index = index_of(picture.map, image.at(map.x + map.width / 2, map.y + map.height / 2));
        CHECK(std::abs(static_cast<float>(index) / 255.0f - std::sqrt(static_cast<float>(i) / 15.0f)) < 0.003f);
        const bool framed = image.at(map.x - 3, map.y - 3) == style::accent;
        CHECK(framed == (i == 8));
    }
    std::vector<style::PlacedText> texts = layout.layer_labels;
    texts.insert(texts.end(), layout.head_labels.begin(), layout.head_labels.end());
    texts.insert(texts.end(), layout.other_texts.begin(), layout.other_texts.end());
    CHECK(count_overlaps(texts) == 0);
    CHECK(std::all_of(texts.begin(), texts.end(), [&](const style::PlacedText& text) {
        return Rect{0, 0, image.width, image.height}.contains(text.box);
    }));
    picture.salient_head = 5;
    CHECK_THROWS_AS(draw_head_grid(picture), Error);
}

TEST_CASE("large grids are pooled and stay readable", "[io]") {
    for (const auto& [layers, heads, tokens] : {std::array{12, 12, 300}, std::array{48, 64, 40}, std::array{1, 1, 2}}) {
        INFO(layers << " × " << heads);
        HeadGridPicture picture;
        picture.layers = layers;
        picture.heads = heads;
        picture.rows = picture.cols = tokens;
        picture.weights = [tokens = tokens](int, int) { return causal_attention(tokens); };
        picture.causal = true;
        HeadGridLayout layout;
        const Image image = draw_head_grid(picture, &layout);
        CHECK(image.width < 2200);
        CHECK(image.height < 2200);
        CHECK(count_overlaps(layout.head_labels) == 0);
        CHECK(count_overlaps(layout.layer_labels) == 0);
    }
}

TEST_CASE("letters come from a font, or from the built-in dots", "[io]") {
    const TextRaster dots({}, {});
    CHECK(dots.built_in());
    for (const TextRaster* raster : {&dots, &TextRaster::shared()}) {
        const TextStyle how{13, Rgb{255, 255, 255}, TextWeight::regular};
        CHECK(raster->measure("", how).width == 0);
        CHECK(raster->measure("abc", how).width > raster->measure("ab", how).width);
        const auto covered = [&](const std::string& text, bool upwards) {
            Image image(300, 300, Rgb{});
            const Rect box = upwards ? raster->draw_upwards(image, {150, 250}, text, how)
                                     : raster->draw(image, {20, 150}, text, how);
            int inside = 0, outside = 0;
            for (int y = 0; y < image.height; ++y) {
                for (int x = 0; x < image.width; ++x) {
                    const bool drawn = image.at(x, y) != Rgb{};
                    (box.contains({x, y, 1, 1}) ? inside : outside) += drawn ? 1 : 0;
                }
            }
            CHECK(outside == 0);
            return inside;
        };
        CHECK(covered("Vantage gjpqy", false) > 100);
        CHECK(covered("Vantage gjpqy", false) == covered("Vantage gjpqy", true));
        CHECK(covered("\U0010fffd", false) > 20);  // U+10FFFD: no font has it, its number is shown
        CHECK(raster->measure("\U0010fffd", how).width > raster->measure("MM", how).width);
        const std::string fitted = raster->fitted("a long piece of text", how, 60);
        CHECK(fitted.ends_with("…"));
        CHECK(raster->measure(fitted, how).width <= 60);
        CHECK(raster->fitted("a", how, 60) == "a");
    }
}

TEST_CASE("a font that cannot be read is named in a warning", "[io]") {
    std::string warnings;
    set_log([&](LogLevel, const std::string& message) { warnings += message; });
    const test::TemporaryDirectory directory;
    write_file(directory.path("broken.ttf"), std::string("no font"));
    const TextRaster raster({directory.path("broken.ttf")}, {});
    set_log({});
    CHECK(raster.built_in());
    CHECK(test::contains(warnings, "broken.ttf"));
}

TEST_CASE("UTF-8 is decoded strictly and measured in columns", "[io]") {
    CHECK(decode_utf8("aé日😀") == U"aé日😀");
    for (const std::size_t max : {0u, 1u, 2u, 3u, 4u, 5u, 9u}) {  // characters, of which "…" is one
        const auto fits = [&](std::string_view part) { return decode_utf8(part).size() <= max; };
        CHECK(decode_utf8(longest_fitting("aé日😀b", fits)) == (max >= 5 ? U"aé日😀b"
                                                                : max == 0
                                                                    ? U""
                                                                    : std::u32string(U"aé日😀b", max - 1) + U"…"));
    }
    CHECK(encode_utf8(U"aé日😀") == "aé日😀");
    CHECK(decode_utf8("\xc0\x80") == U"\ufffd\ufffd");            // overlong
    CHECK(decode_utf8("\xed\xa0\x80") == U"\ufffd\ufffd\ufffd");  // a surrogate
    CHECK(decode_utf8("x\xe6\x97") == U"x\ufffd");                // cut short: one
    CHECK(decode_utf8("\xf4\x90\x80\x80") == U"\ufffd\ufffd\ufffd\ufffd");
    CHECK(column_width("abc") == 3);
    CHECK(column_width("日本") == 4);
    CHECK(column_width("e\u0301") == 1);
    CHECK(shortened("abcdef", 6) == "abcdef");
    CHECK(shortened("abcdefg", 6) == "abcde…");
    CHECK(column_width(shortened("日本日本", 6)) <= 6);
}

TEST_CASE("token labels are visible and harmless", "[io]") {
    CHECK(token_label(" fox") == "·fox");
    CHECK(token_label("fox") == "fox");
    CHECK(token_label("  ") == "␣␣");
    CHECK(token_label("\n\t") == "↵⇥");
    CHECK(token_label("\x1b[31m") == "<1B>[31m");
    CHECK(token_label("\u202e") == "<202E>");
    CHECK(token_label("\xff") == "\ufffd");
    const std::vector<std::string> words{"Once", " upon", " a", " time", "."}, pieces{"Once", " ex", "pect", " a"};
    CHECK(token_labels(words) == std::vector<std::string>{"Once", "upon", "a", "time", "."});
    CHECK(token_labels(pieces) == std::vector<std::string>{"Once", "·ex", "pect", "·a"});
}

TEST_CASE("the terminal shows the labels and fits its columns", "[io]") {
    for (const int tokens : {1, 4, 14, 30, 70}) {
        const std::vector<float> values = causal_attention(tokens);
        HeatmapPicture picture = picture_of(values, tokens);
        for (const int columns : {24, 40, 80, 200}) {
            INFO(tokens << " tokens, " << columns << " columns");
            const std::string plain = terminal_heatmap(picture, columns, TerminalColours::none);
            const std::string full = terminal_heatmap(picture, columns, TerminalColours::full);
            const std::string palette = terminal_heatmap(picture, columns, TerminalColours::palette);
            CHECK(plain.find('\033') == std::string::npos);
            CHECK(test::contains(full, "\033[48;2;"));
            CHECK(test::contains(palette, "\033[48;5;"));
            CHECK_FALSE(test::contains(palette, "48;2;"));
            for (const std::string& text : {plain, without_escapes(full), without_escapes(palette)}) {
                CHECK(text.back() == '\n');
                CHECK(test::contains(text, "layer 1 · head 0"));
                for (const std::string& line : lines_of(text)) CHECK(column_width(line) <= columns);
            }
            for (const std::string& line : lines_of(full)) {
                if (test::contains(line, "\033")) CHECK(line.substr(line.rfind('\033')).starts_with("\033[0m"));
            }
        }
    }
}

TEST_CASE("terminal rows name queries, columns name keys, cells hold weights", "[io]") {
    const std::vector<float> values{1, 0, 0, .25f, .75f, 0, .5f, 0, .5f};
    HeatmapPicture picture;
    picture.rows = picture.cols = 3;
    picture.values = values;
    picture.row_labels = picture.col_labels = {"Apple", " revenue", "\x1b[2J"};
    picture.causal = true;
    const std::vector<std::string> lines = lines_of(terminal_heatmap(picture, 80, TerminalColours::none));
    REQUIRE(lines.size() == 5);
    CHECK(test::contains(lines[1], "Apple"));
    CHECK(test::contains(lines[1], "revenue"));
    CHECK(test::contains(lines[1], "<1B>[2J"));
    CHECK(test::contains(lines[2], "Apple"));
    CHECK(test::contains(lines[3], ".25"));
    CHECK(test::contains(lines[3], ".75"));
    CHECK(test::contains(lines[4], ".50"));
    CHECK(test::contains(lines[4], "·"));  // a weight of zero that is not hidden
    // A number stands below its key.
    const std::size_t key = lines[1].find("revenue"), number = lines[3].find(".75");
    CHECK(number >= key);
    CHECK(number < key + 7);
}

TEST_CASE("a terminal that is too narrow shows the last keys and the sum of the rest", "[io]") {
    const int tokens = 50;
    const std::vector<float> values = causal_attention(tokens);
    const HeatmapPicture picture = picture_of(values, tokens);
    const std::string text = terminal_heatmap(picture, 60, TerminalColours::none);
    CHECK(test::contains(text, "of 50 keys"));
    CHECK(test::contains(text, "of 50 queries"));
    CHECK(test::contains(text, "…"));
}
