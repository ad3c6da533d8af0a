#include "viewer/draw/fonts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/font_files.h"
#include "viewer/draw/frame.h"

namespace vantage::view {
namespace {

// Latin, Greek, Cyrillic, punctuation, arrows, mathematics, shapes: what texts are most often made of, and Vantage's
// labels.
constexpr std::array<ImWchar, 18> default_ranges{0x0020, 0x017F, 0x0370, 0x03FF, 0x0400, 0x045F,
                                                 0x2010, 0x2027, 0x2030, 0x203A, 0x2190, 0x21FF,
                                                 0x2200, 0x2265, 0x2420, 0x2424, 0x2580, 0x25FF};
constexpr float default_pixels = 15, small_pixels = 12.5f, title_pixels = 19;

bool is_default(char32_t character) {
    for (std::size_t i = 0; i + 1 < default_ranges.size(); i += 2)
        if (character >= default_ranges[i] && character <= default_ranges[i + 1]) return true;
    return character == U'✓';
}

std::string number_of(char32_t character) { return format("U+{:04X}", static_cast<unsigned>(character)); }

Face add_face(ImFontAtlas& atlas, TextWeight weight, float size, const ImWchar* ranges) {
    const float pixels = std::round(size);
    ImFont* font = nullptr;
    for (const std::string& file : installed_fonts(weight)) {
        ImFontConfig config;
        config.MergeMode = font != nullptr;
        config.OversampleH = config.OversampleV = 1;
        config.PixelSnapH = true;
        ImFont* added = atlas.AddFontFromFileTTF(file.c_str(), pixels, &config, ranges);
        if (font == nullptr) font = added;
    }
    if (font != nullptr) return {font, pixels};
    ImFontConfig config;
    config.SizePixels = pixels;
    return {atlas.AddFontDefault(&config), pixels};
}

}  // namespace

Fonts::Fonts(const Device& device, float scale) : device_(device), scale_(scale) { wanted_.insert(U'✓'); }

void Fonts::need(std::string_view text) {
    for (const char32_t character : decode_utf8(text)) {
        if (is_default(character) || character < 0x20 || character > IM_UNICODE_CODEPOINT_MAX) continue;
        if (wanted_.insert(static_cast<ImWchar>(character)).second) stale_ = true;
    }
}

void Fonts::resize(float scale) {
    if (scale == scale_) return;
    scale_ = scale;
    stale_ = true;
}

std::string Fonts::with_numbers(std::string_view text, const std::string& before, const std::string& after) const {
    std::string shown;
    for (const char32_t character : decode_utf8(text))
        shown += has(character) ? encode_utf8(std::u32string(1, character)) : before + number_of(character) + after;
    return shown;
}

std::string Fonts::legible(std::string_view text) const { return with_numbers(text, "", ""); }
std::string Fonts::in_field(std::string_view text) const { return with_numbers(text, "‹", "›"); }

std::string Fonts::of_field(std::string_view shown) const {
    constexpr std::string_view begin = "‹U+", end = "›";
    std::string text;
    while (!shown.empty()) {
        const std::size_t from = std::min(shown.find(begin), shown.size());
        text += shown.substr(0, from);
        shown.remove_prefix(from);
        if (shown.empty()) break;
        unsigned number = 0;
        const char* const digits = shown.data() + begin.size();
        const auto [rest, error] = std::from_chars(digits, shown.data() + shown.size(), number, 16);
        const std::u32string character(1, static_cast<char32_t>(number));
        // as in_field() writes it, and nothing that the user means word by word
        const std::string written = encode_utf8(character), whole = "‹" + number_of(number) + "›";
        const bool missing = error == std::errc() &&
                             std::string_view(rest, shown.data() + shown.size()).starts_with(end) &&
                             shown.starts_with(whole) && decode_utf8(written) == character && !has(number);
        text += missing ? written : std::string(begin);
        shown.remove_prefix(missing ? whole.size() : begin.size());
    }
    return text;
}

bool Fonts::update() {
    if (!stale_) return false;
    build();
    stale_ = false;
    return true;
}

void Fonts::build() {
    ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    atlas.Clear();
    use_freetype(atlas);
    atlas.Flags |= ImFontAtlasFlags_NoBakedLines;
    ranges_.assign(default_ranges.begin(), default_ranges.end());
    for (const ImWchar character : wanted_) ranges_.insert(ranges_.end(), {character, character});
    ranges_.push_back(0);
    regular = add_face(atlas, TextWeight::regular, default_pixels * scale_, ranges_.data());
    small = add_face(atlas, TextWeight::regular, small_pixels * scale_, ranges_.data());
    bold = add_face(atlas, TextWeight::bold, default_pixels * scale_, ranges_.data());
    title = add_face(atlas, TextWeight::bold, title_pixels * scale_, ranges_.data());
    unsigned char* bytes = nullptr;
    int width = 0, height = 0;
    atlas.GetTexDataAsAlpha8(&bytes, &width, &height);
    width_ = u32(width);
    height_ = u32(height);
    atlas_ =
        written_once(device_, std::as_bytes(std::span(bytes, static_cast<std::size_t>(width_) * height_)), "letters");
}

}  // namespace vantage::view
