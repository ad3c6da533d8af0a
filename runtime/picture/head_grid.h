// A grid of small attention maps of all heads: layers are rows, heads are columns.
#pragma once

#include <functional>

#include "runtime/picture/picture_style.h"
#include "runtime/picture/png.h"

namespace vantage::internal {

struct HeadGridPicture : AttentionLook {
    int layers = 0, heads = 0;
    std::vector<std::int64_t> layer_numbers;  ///< of the rows; empty: 0, 1 …
    /// Returns the weights of a head, row-major. Called once per head, so that only one matrix is in memory at a time.
    std::function<std::vector<float>(int row, int head)> weights;
    std::vector<std::string> notes;  ///< a short text below each map; shown if all of them fit
    std::string title, caption;
    int salient_row = -1, salient_head = -1;  ///< framed; −1: none
    std::string salient_reason;               ///< the reason: "“it” → “animal” (0.61)"
};

struct HeadGridLayout {
    int width = 0, height = 0;
    std::vector<Rect> maps;  ///< ordered by layer
    std::vector<style::PlacedText> layer_labels, head_labels, other_texts;
};

/// Throws usage if sizes do not match.
Image draw_head_grid(const HeadGridPicture& picture, HeadGridLayout* layout = nullptr);
PngTexts texts_of(const HeadGridPicture& picture);

}  // namespace vantage::internal
