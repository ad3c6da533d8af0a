// A grid of small attention maps of all heads: layers are rows, heads are columns.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

struct HeadGridPicture {
    int layers = 0, heads = 0;
    int rows = 0, cols = 0;  ///< queries and keys of each map
    /// Returns the weights of a head, row-major. Called once per head, so that only one matrix is in memory at a time.
    std::function<std::vector<float>(int layer, int head)> weights;
    std::vector<std::string> notes;  ///< a short text below each map; shown if all of them fit
    std::string title, caption;
    int salient_layer = -1, salient_head = -1;  ///< framed; −1: none
    std::string salient_reason;                 ///< the reason: "“it” → “animal” (0.61)"
    float value_max = 1.0f;
    bool causal = false;
    AttentionScale scale = AttentionScale::square_root;
    ColourMap map = ColourMap::magma;
};

struct HeadGridLayout {
    int width = 0, height = 0;
    std::vector<Rect> maps;  ///< ordered by layer
    std::vector<style::PlacedText> layer_labels, head_labels, other_texts;
};

/// Throws usage if sizes do not match.
Image draw_head_grid(const HeadGridPicture& picture, HeadGridLayout* layout = nullptr);
std::vector<std::pair<std::string, std::string>> texts_of(const HeadGridPicture& picture);

}  // namespace vantage::internal
