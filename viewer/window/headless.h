// Pictures of a model at work without a window, a display, or GLFW.
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
    /// The model has been started; it lives longer, and so does a second one beside it, which is started here. `command`: as
    /// in ViewerOptions.
    PictureMaker(LiveModel& live, const ViewState& state, float scale, LiveModel* compared = nullptr,
                 const std::string& command = "vantage view");
    ~PictureMaker();
    /// What a window of this size would show, with nothing left to refine.
    Image draw(std::uint32_t width, std::uint32_t height);
    /// May be changed between pictures.
    ViewState& state();
    /// That the last picture shows.
    std::int64_t rows() const;
    /// What a saved picture says of itself.
    PngTexts texts();
    /// The map as a file in the form that its name's ending says (viewer/export). After `draw`.
    void write(const std::string& path);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Waits until the model has stopped: its text has ended, or something went wrong, which is thrown.
void wait_for_model(LiveModel& live);

/// What a picture of all panels takes of the host, in seconds, while the mouse moves: the median of some. For measurements.
double seconds_of_a_picture(LiveModel& live, std::uint32_t width, std::uint32_t height);

}  // namespace vantage::view
