// Colours and spacing.
#pragma once

#include <imgui.h>

#include "runtime/picture/colour_map.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

struct Palette {
    ImU32 background, panel, raised, line, faint, ink, strong, accent, good, bad;
    ImU32 unknown;  ///< cells that are not computed yet
    bool dark;
};

const Palette& palette_of(Theme theme);
/// Applies colours and scale to the toolkit's widgets.
void apply(const Palette& palette, float scale);

/// Text colour with contrast to this colour.
ImU32 ink_on(Rgb colour);
ImU32 packed(Rgb colour, float alpha = 1);
ImU32 faded(ImU32 colour, float alpha);
ImVec4 unpacked(ImU32 colour);

}  // namespace vantage::view
