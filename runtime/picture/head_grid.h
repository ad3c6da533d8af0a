// All heads of a model at one glance: a small map for each, layers downwards, heads across.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/picture_style.h"

namespace vantage {

struct HeadGridPicture {
    int layers = 0, heads = 0;
    int rows = 0, cols = 0;  ///< queries and keys of each map
    /// The weights of a head, row after row; asked for once each, one head at a time, so that they are never all held.
    std::function<std::vector<float>(int layer, int head)> weights;
    std::vector<std::string> notes;  ///< a few letters for below each map; shown where all fit
    std::string title, caption;
    int salient_layer = -1, salient_head = -1;  ///< framed; −1: none
    std::string salient_reason;                 ///< why: "reads what followed last time (0.83)"
    float value_max = 1.0f;
    bool causal = false;
    AttentionScale scale = AttentionScale::square_root;
    ColourMap map = ColourMap::magma;
};

struct HeadGridLayout {
    int width = 0, height = 0;
    std::vector<Rect> maps;  ///< layer by layer
    std::vector<style::PlacedText> layer_labels, head_labels, other_texts;
};

/// Throws `usage` when the numbers do not fit together.
Image draw_head_grid(const HeadGridPicture& picture, HeadGridLayout* layout = nullptr);
std::vector<std::pair<std::string, std::string>> texts_of(const HeadGridPicture& picture);

}  // namespace vantage
