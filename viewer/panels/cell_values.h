// What the maps show in the cell under the mouse: pooled where it covers several weights, and for two runs in both.
#pragma once

#include <optional>
#include <string>

#include "viewer/panels/ui.h"

namespace vantage::view {

/// The cell of a reading in one of two runs. A run may have no such query or key.
struct CellIn {
    const FrameData* frame;  ///< null: no such head
    std::optional<std::int64_t> query, key;
    /// `r` was read in the run of `ui`.
    CellIn(const Ui& ui, bool of_b, const CellReading& r);
    /// Null until it is there.
    const CellReading* reading() const;
    /// With the map's modifiers, if known.
    std::optional<float> weight(const Modifiers& modifiers) const;
};

/// Whether the cell under the mouse covers several weights.
bool is_pooled(const Ui& ui);
/// "sum of 4 × 4", or the name of a weight.
std::string drawn_name(const Ui& ui);
/// The value that the map of the run of `ui` shows at its reading; nothing while it is not known.
std::optional<float> drawn_value(const Ui& ui, const CellReading& r);
/// The same in A and in B, and B − A where both maps have it.
struct DrawnInBoth {
    std::optional<float> a, b, change;
};
DrawnInBoth drawn_in_both(const Ui& ui, const CellReading& r);
/// "+0.01234"; "–" while it is not known.
std::string change_text(std::optional<float> change, const Modifiers& modifiers);
/// "–" while it is not known.
std::string known_text(std::optional<float> value, const Modifiers& modifiers);

}  // namespace vantage::view
