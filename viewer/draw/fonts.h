// The viewer's letters: the machine's fonts in four sizes, in one atlas in device memory.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/gpu/buffer.h"
#include "vantage/device.h"
#include "viewer/draw/toolkit.h"

namespace vantage::view {

struct Face {
    ImFont* font = nullptr;
    float size = 0;  ///< pixels
};

class Fonts {
public:
    Fonts(const Device& device, float scale);

    Face regular, small, bold, title;

    /// Makes sure that the characters of a text are in the atlas, as far as a font has them. Between two pictures.
    void need(std::string_view text);
    /// Another size of everything. Between two pictures.
    void resize(float scale);
    /// The text with the number of each character that no font has: U+1F600.
    std::string legible(std::string_view text) const;
    /// The text as a field shows it, in which it is edited: each character that no font has as ‹U+1F600›; and back.
    std::string in_field(std::string_view text) const;
    std::string of_field(std::string_view shown) const;
    /// The atlas, one byte a pixel.
    const gpu::Buffer& atlas() const { return atlas_; }
    std::uint32_t atlas_width() const { return width_; }
    std::uint32_t atlas_height() const { return height_; }
    /// Builds the atlas when it is out of date; true when it did.
    bool update();

private:
    bool has(char32_t character) const { return character >= 0x20 && has_glyph(regular.font, character); }
    std::string with_numbers(std::string_view text, const std::string& before, const std::string& after) const;
    void build();
    Device device_;
    float scale_;
    bool stale_ = true;
    std::set<ImWchar> wanted_;     ///< beyond the usual ones
    std::vector<ImWchar> ranges_;  ///< kept while the atlas lives
    gpu::Buffer atlas_;
    std::uint32_t width_ = 1, height_ = 1;
};

}  // namespace vantage::view
