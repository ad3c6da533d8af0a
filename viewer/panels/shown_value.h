// The numbers behind the colours: a weight as the map shows it, with its modifiers, and pooled where a cell covers
// several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/data/view_data.h"

namespace vantage::view {

/// What a weight is with these modifiers: "p", "p·‖v‖", "observed / expected".
std::string weight_name(const Modifiers& modifiers);
/// A value as panels write it: "0.37666", "1.54", "0".
std::string value_text(float value, const Modifiers& modifiers);

/// The weight of a query and a key, with the modifiers of the map; nothing while its row is not known.
std::optional<float> shown_weight(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                  std::int64_t key);
/// The largest of a query's weights with the modifiers of the map, at most `count`, the largest first; empty while they
/// are not known.
std::vector<CellReading::Top> shown_top(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                        std::size_t count = 8);

/// The same for lines to those keys: weights with modifiers are shares of the largest.
std::vector<CellReading::Top> line_strengths(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                             std::size_t count = 8);

/// The weights of a cell that covers several, as Wanted::numbers takes them; nothing for one weight and for more than
/// can be read.
std::optional<Rectangle> pooled_part(const FrameData& frame, std::int64_t row, std::int64_t column);
/// The value of that cell, whose part is in tokens here; nothing while its weights are not known.
std::optional<float> pooled_value(const FrameData& frame, const Rectangle& part, CellPooling pooling);

}  // namespace vantage::view
