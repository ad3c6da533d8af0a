// The viewer without a window: takes keys and the mouse, and draws pictures of a model at work into any target.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/picture/png.h"
#include "vantage/device.h"
#include "viewer/draw/fonts.h"
#include "viewer/draw/painter.h"
#include "viewer/panels/colour_ends.h"
#include "viewer/panels/input_queue.h"
#include "viewer/panels/key_bindings.h"
#include "viewer/panels/picture_clock.h"
#include "viewer/panels/view_record.h"
#include "viewer/panels/viewed_runs.h"

namespace vantage::view {

class TrainingSnapshots;

struct ViewerOptions {
    float scale = 1;      ///< of the interface, multiplied by the screen's own
    bool frozen = false;  ///< show no times: the same state gives the same pixels
    /// Maximum share of the model's time that viewing may take; nothing: no limit.
    std::optional<double> budget_percent = {};
    std::function<void(const std::string&)> copy = {};  ///< to the clipboard
    std::function<std::string()> paste = {};            ///< from the clipboard
    KeyBindings keys = {};
    /// Makes the prompt of a state; empty: its text. May throw what is wrong with it.
    std::function<LivePrompt(const ViewState&)> prompt = {};
    LiveModel* compared = nullptr;  ///< a second run on the same device; the viewer starts it
    /// Of a model that learns: its live() is what the viewer shows.
    TrainingSnapshots* training = nullptr;
    /// What opened the viewer, without the options of a view, the size and the scale: begins the command line that
    /// makes the picture again.
    std::string command = "vantage view";
};

/// What an action asks of the owner of the window.
enum class Request : std::uint8_t { none, picture, exports, quit };

class Viewer : NotCopied {
public:
    /// The model has been started, or will be. It lives longer.
    Viewer(LiveModel& live, const ViewState& state, const ViewerOptions& options = {});
    ~Viewer();

    // ---- input; pixels from the upper left corner
    void mouse_at(float x, float y);
    void mouse_left();
    void mouse_button(int button, bool down);
    void scrolled(float x, float y);
    void key(const Shortcut& shortcut, EditKey edit, bool down);
    void modifiers(bool control, bool shift, bool alt);
    void character(char32_t character);
    /// Alt, pressed and released alone, opens or closes the menus.
    void alt_key(bool down);
    void focus_lost();

    // ---- pictures; `now` in seconds on a clock that goes forward
    /// Whether there is something new to show. Does not wait for the device.
    bool due(double now) const;
    /// Seconds until it is worth to ask again.
    double wake_in(double now) const;
    /// Lays out the picture and records it, with the data that is there. `whole`: with all data of one version, for
    /// which it waits.
    void draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now, bool whole = false);
    /// Computes everything that the state asks for, at the models' newest versions: for pictures without a window.
    void finish(std::uint32_t width, std::uint32_t height);
    void note_frame(double now, double device_seconds, double host_seconds);
    /// Draw a few more pictures.
    void touch() { clock_.touch(); }
    /// The shape of the mouse's cursor in the last picture.
    ImGuiMouseCursor cursor() const { return cursor_; }
    Request take_request() { return std::exchange(request_, Request::none); }

    // ---- for files
    /// What is shown; finished first.
    ViewSubject subject();
    /// What a saved picture says of itself: model, head, scale, pooling, seed, and the command line.
    PngTexts picture_texts() { return facts_of(subject()); }
    const ViewCounts& counts() const { return runs_.a().data.counts(); }

    // ---- for actions and panels
    ViewState& state() { return state_; }
    const ViewState& state() const { return state_; }
    Interaction& at() { return at_; }
    const Interaction& at() const { return at_; }
    /// The runs that are shown: the head in focus, rows, columns, tokens.
    const ViewedRuns& runs() const { return runs_; }
    /// The steps of a model that learns; null: it does not.
    TrainingSnapshots* training() const { return options_.training; }
    const Layout& layout() const { return layout_; }
    /// Map panels from left to right. The last one has the colour bar.
    const std::vector<Pane>& panes() const { return panes_; }
    /// Range of the colour bar that "reset" restores.
    const ValueRange& default_ends() const { return ends_.defaults(); }
    /// Why the model takes no commands; null if it does.
    const char* why_not_commanded() const;
    /// Whether the model takes commands. Says so in the window if not.
    bool commanded();
    void run_prompt();
    void stop();
    /// Tokens per second at most; 0: no limit.
    void set_speed(double tokens_per_second);
    /// Runs the prompt, or stops a run.
    void run_or_stop();
    void pause_or_resume();
    /// One more token.
    void step();
    /// Selects what is shown of two runs. There are two. While it is the difference, heads are coloured by it, too.
    void show(ShownRuns what);
    /// Whether the keys of the head in focus are patches of an image.
    bool shows_image() const;
    /// Why the head in focus has no distances; null if it has.
    const char* why_not_relative() const;
    void toggle_blinking();
    /// Thumbnails in the head map, or not. Says so if they are too small to show anything.
    void toggle_thumbnails();
    /// Shows a line below the menu bar for a few seconds.
    void say(const std::string& note);
    void copy_command_line();
    void request(Request what) { request_ = what; }
    void set_scale(float scale);
    float scale() const { return options_.scale; }

private:
    void hear(std::function<void(ImGuiIO&)> event, InputQueue::Order order = InputQueue::Order::any);
    template <class Do>
    void each_commanded(Do what);
    CommandContext command_context() const { return {options_.command, size_, options_.scale}; }

    // ---- the steps of a picture
    void read_models();
    void refuse_relative_axis();
    void arrange(float width, float height);
    void set_colours();
    void set_picture();
    void update_runs(double now);
    void finish_runs(bool newest);
    void finish_one_version(float width, float height);
    bool follow_values();
    Wanted wanted(const RunView& run) const;
    PicturesWanted pictures_wanted() const;
    void begin_ui(float width, float height);
    Ui ui_of(RunView& run);
    void draw_panels();

    ViewState state_;
    Interaction at_;
    ViewerOptions options_;
    ViewedRuns runs_;
    PictureClock clock_;
    InputQueue input_;
    ColourEnds ends_;
    DifferenceEnd difference_end_;
    /// A run that the model was asked to begin. Its prompt and sampling become the state's when it has begun.
    struct AskedRun {
        std::uint64_t run;
        ViewState state;
    };
    std::optional<AskedRun> asked_;
    std::optional<std::string> given_prompt_;  ///< not in its field yet
    Clipboard clipboard_;
    ImGuiContext* context_ = nullptr;
    Fonts fonts_;
    Drawings drawings_;
    gpu::Buffer colours_, picture_;  ///< Surface::colours and picture
    std::optional<std::pair<ColourMap, Theme>> colours_of_;
    Figures figures_;
    std::array<int, 2> size_{};  ///< of the picture, in pixels
    Layout layout_;
    PanelSizes arranged_sizes_;  ///< of the layout
    std::vector<Pane> panes_{1};
    Request request_ = Request::none;
    ImGuiMouseCursor cursor_ = ImGuiMouseCursor_Arrow;
    bool alt_alone_ = false;  ///< Alt is down, and nothing else was pressed since
    bool reading_due_ = false;
    bool new_step_ = false;  ///< of training, since the last picture
    double now_ = 0;
};

}  // namespace vantage::view
