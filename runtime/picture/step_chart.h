// Curves of a training run by step: loss, norm of the gradients and learning rate, or what heads attend to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

/// Colours that tell curves apart.
inline constexpr std::array step_colours{style::accent,      Rgb{255, 176, 84},  Rgb{214, 120, 255},
                                         Rgb{120, 170, 255}, Rgb{240, 110, 120}, Rgb{150, 220, 100}};

/// A curve of values by step, from 0, ascending; values that are not finite in f32 are gaps.
struct StepCurve {
    std::string name;
    Rgb colour = style::accent;
    std::vector<double> steps, values;
};

struct StepPanel {
    std::string title;  ///< with its unit: "loss (nats per token)"
    std::vector<StepCurve> curves;
    bool logarithmic = false;
    int height = 110;       ///< of the curves, in pixels
    bool is_share = false;  ///< values from 0 to 1, which is the axis
};

struct StepChart {
    std::string title, caption;
    std::vector<StepPanel> panels;  ///< one below the other, with one axis of steps
};

/// Curves are thinned to the mean of the steps that share a column of pixels.
Drawing draw_step_chart(const StepChart& chart);

}  // namespace vantage::internal
