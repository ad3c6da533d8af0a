// The viewer without a window: takes keys and the mouse, and draws pictures of a model at work into any target.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/png.h"
#include "vantage/device.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_data.h"
#include "viewer/draw/fonts.h"
#include "viewer/draw/painter.h"
#include "viewer/export/view_export.h"
#include "viewer/panels/actions.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

struct ViewerOptions {
    float scale = 1;      ///< of everything, on top of the screen's own
    bool frozen = false;  ///< no times in the picture: the same state gives the same pixels
    std::optional<double> budget_percent = {};
    std::function<void(const std::string&)> copy = {};  ///< to the clipboard
    KeyBindings keys = {};
    /// What a state asks the model; empty: its text. May throw what is wrong with it.
    std::function<LivePrompt(const ViewState&)> prompt = {};
};

class FocusFinder;

/// What an action wants of whoever has the window.
enum class Request : std::uint8_t { none, picture, exports, quit };

class Viewer {
public:
    /// The model has been started, or will be; it lives longer.
    Viewer(LiveModel& live, const ViewState& state, const ViewerOptions& options = {});
    ~Viewer();
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

    // ---- what the user does; pixels from the upper left corner
    void mouse_at(float x, float y);
    void mouse_left();
    void mouse_button(int button, bool down);
    void scrolled(float x, float y);
    void key(const Shortcut& shortcut, EditKey edit, bool down);
    void modifiers(bool control, bool shift, bool alt);
    void character(char32_t character);

    // ---- pictures
    /// Whether there is something new to show; asks no device.
    bool due(double now) const;
    /// Seconds until it is worth to ask again.
    double wake_in(double now) const;
    /// Puts the picture together and records it. `now`: seconds on a clock that goes forward.
    void draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now);
    /// For pictures without a window: everything that the state wants is there when this returns.
    void finish(std::uint32_t width, std::uint32_t height);
    void note_frame(double now, double device_seconds, double host_seconds);
    Request take_request();

    // ---- for actions
    ViewState& state() { return state_; }
    const ViewState& state() const { return state_; }
    Interaction& at() { return at_; }
    const Interaction& at() const { return at_; }
    LiveModel& live() { return live_; }
    const Version& version() const { return version_; }
    HeadPlace head() const;
    std::int64_t rows() const;  ///< shown
    std::int64_t columns() const;
    Rectangle part() const;  ///< visible: the state's, or all
    const MapView& map() const { return map_; }
    const Layout& layout() const { return layout_; }
    const FocusPlaces& places() const { return places_; }
    std::span<const HeadMeans> head_numbers() const {
        return frame_data_ != nullptr ? frame_data_->heads : std::span<const HeadMeans>();
    }
    std::optional<CellReading> reading() const { return frame_data_ != nullptr ? frame_data_->reading : std::nullopt; }
    std::span<const OffRow> off_rows() const {
        return frame_data_ != nullptr ? frame_data_->off_rows : std::span<const OffRow>();
    }
    void run_prompt();
    void run_or_stop();
    /// Whether the model can be told to run, pause or stop; says so where it cannot.
    bool obeyed();
    void say(const std::string& note);
    void copy_command_line();
    /// What is shown, for files: the map is finished first.
    ViewSubject subject();
    /// What a saved picture says of itself: model, head, scale, pooling, seed, and the command line.
    PngTexts picture_texts() { return facts_of(subject()); }
    const ViewCounts& counts() const { return data_.counts(); }
    void request(Request what) { request_ = what; }
    void set_scale(float scale);
    float scale() const { return options_.scale; }
    /// Draw a few more pictures: widgets need a second look at what was clicked.
    void touch() { pictures_due_ = 3; }

private:
    /// What the user did waits for the next picture, so that a press and a release between two pictures are both seen.
    void hear(std::function<void(ImGuiIO&)> event, bool alone = false);
    void pass_events();
    void read_model();
    Cell read_most(std::int64_t query) const;
    Wanted wanted() const;
    /// When what the model has done since is worth a picture: not before the budget allows for one.
    double next_of_model() const;
    void wait_for_reading(const Wanted& what, double now);
    void arrange(float width, float height);
    void begin_ui(float width, float height, double now);
    void draw_panels();
    void set_colours();
    void set_picture();

    LiveModel& live_;
    ViewState state_;
    ViewerOptions options_;
    Interaction at_;
    ImGuiContext* context_ = nullptr;
    Fonts fonts_;
    ViewData data_;
    const FrameData* frame_data_ = nullptr;
    Version version_;
    LiveTokens tokens_;
    std::vector<std::string> labels_, source_labels_;
    std::shared_ptr<FocusFinder> finder_;  ///< shared with the model's thread
    Drawings drawings_;
    gpu::Buffer colours_;
    gpu::Buffer picture_;  ///< that the model looks at, a word a pixel
    std::optional<ColourMap> colours_of_;
    Figures figures_;
    Layout layout_;
    FocusPlaces places_;
    MapView map_;
    struct Event {
        std::function<void(ImGuiIO&)> tell;
        bool alone;  ///< the next such event is for the next picture
    };
    std::deque<Event> events_;
    Request request_ = Request::none;
    int pictures_due_ = 3;
    bool reading_due_ = false;
    std::optional<Cell> asked_cell_;
    double asked_at_ = 0;
    double now_ = 0, last_picture_ = -1, closed_until_ = 0;
};

}  // namespace vantage::view
