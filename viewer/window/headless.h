// Pictures without a window, a display or GLFW.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/picture/png.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

class PictureMaker {
public:
    /// The model has been started. `compared`, a second run, is started here. Both live longer. `command`: as in
    /// ViewerOptions.
    PictureMaker(LiveModel& live, const ViewState& state, float scale, LiveModel* compared = nullptr,
                 const std::string& command = "vantage view");
    ~PictureMaker();
    /// The fully refined picture of a window of this size.
    Image draw(std::uint32_t width, std::uint32_t height);
    /// May be changed between pictures.
    ViewState& state();
    /// Of the last picture.
    std::int64_t rows() const;
    /// Metadata of a saved picture.
    PngTexts texts();
    /// Writes the map in the format of the extension (viewer/export). Call `draw` first.
    void write(const std::string& path);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Waits until the run has ended or is paused. Throws its error.
void wait_for_model(LiveModel& live);

/// Median host time, in seconds, of a picture of all panels while the mouse moves. For measurements.
double seconds_of_a_picture(LiveModel& live, std::uint32_t width, std::uint32_t height);

}  // namespace vantage::view
