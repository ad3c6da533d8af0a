// A flow chart from top to bottom: columns of sections, each a small graph of boxes; on a light background, for papers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

struct FlowBox {
    /// What the colour tells: data and results, projections, norms, attention, activations, others; `sum` is a circle.
    enum class Kind : std::uint8_t { data, linear, norm, attention, activation, other, sum };
    Kind kind = Kind::other;
    std::string title;  ///< "Linear"
    std::string note;   ///< "attn.c_attn"; may be empty
};

struct FlowEdge {
    int from = 0,
        to = 0;         ///< boxes of the section; `from` -1: what the section before gives; `to` -1: the next section
    std::string label;  ///< the shape of the tensor: "[n, 768]"
};

struct FlowSection {
    std::vector<FlowBox> boxes;  ///< each after those that it reads
    std::vector<FlowEdge> edges;
    std::string name;  ///< "h.0 … h.11": of a section with a frame
    int times = 0;     ///< layers that it stands for; 0: no frame
};

struct FlowColumn {
    std::string title;
    std::vector<FlowSection> sections;
};

/// A line from a box of one column to a box of a later one.
struct FlowLink {
    struct End {
        int column = 0, section = 0, box = 0;
    } from, to;
};

struct FlowChart {
    std::string title, caption;
    std::vector<FlowColumn> columns;
    std::vector<FlowLink> links;
};

struct FlowLayout {
    std::vector<Rect> boxes;  ///< of all columns and sections, in order
    std::vector<style::PlacedText> texts;
};

/// Throws usage for edges to boxes that are not there, or against the order.
Drawing draw_flow_chart(const FlowChart& chart, FlowLayout* layout = nullptr);

}  // namespace vantage::internal
