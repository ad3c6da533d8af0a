// The viewer without a window: takes keys and the mouse, and draws pictures of a model at work into any target.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/picture/png.h"
#include "vantage/device.h"
#include "viewer/data/comparison.h"
#include "viewer/data/head_distances.h"
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
    std::function<std::string()> paste = {};            ///< what is in it
    KeyBindings keys = {};
    /// What a state asks the model; empty: its text. May throw what is wrong with it.
    std::function<LivePrompt(const ViewState&)> prompt = {};
    LiveModel* compared = nullptr;  ///< a second run, on the same device; the viewer starts it
    /// What opened it, without the options of a view, the size and the scale: for the command line that makes the picture again.
    std::string command = "vantage view";
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
    /// Pressed and let go with nothing in between it opens the menus, or closes them.
    void alt_key(bool down);
    void focus_lost();

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
    LiveModel& live() { return a_.live; }
    const Version& version() const { return a_.version; }
    bool compares() const { return b_ != nullptr; }
    /// What is seen of two runs now: while it blinks one in turn with the other.
    ShownRuns shown() const;
    void show(ShownRuns what);
    void toggle_blinking();
    void pause_or_resume();
    void step();
    void stop();
    HeadId head() const;
    std::int64_t all_rows() const;  ///< of all tokens
    std::int64_t rows() const;      ///< shown
    std::int64_t keys() const;      ///< of the head in focus
    std::int64_t columns() const;   ///< keys, or distances
    /// The column of distance 0: of attention that sees later keys these stand before it.
    std::int64_t own_column() const;
    Rectangle part() const;  ///< visible: the state's, or all
    const MapView& map() const { return panes_.front().map; }
    const std::vector<Pane>& panes() const { return panes_; }
    const Layout& layout() const { return layout_; }
    /// Of the pane with the colour bar.
    const FocusPlaces& places() const { return panes_.back().places; }
    std::span<const HeadMeans> head_numbers() const { return numbers_; }
    std::optional<CellReading> reading() const {
        return in_front().frame != nullptr ? in_front().frame->reading : std::nullopt;
    }
    /// Of A and B, at the same place.
    std::pair<std::optional<CellReading>, std::optional<CellReading>> readings() const {
        const auto of = [](const RunView* side) {
            return side != nullptr && side->frame != nullptr ? side->frame->reading : std::nullopt;
        };
        return {of(&a_), of(b_.get())};
    }
    /// The slot of the key of a cell of the map: by distance another than its column. Nothing where there is no such key.
    std::optional<std::int64_t> key_of(const Cell& cell) const;
    /// Of the run in front.
    const Slots& row_slots() const { return row_slots(in_front()); }
    std::span<const OffRow> off_rows() const {
        return in_front().frame != nullptr ? in_front().frame->off_rows : std::span<const OffRow>();
    }
    void run_prompt();
    void run_or_stop();
    /// Whether the model can be told to run, pause or stop; says so where it cannot.
    bool obeyed();
    /// The ends of the colour bar where nobody has moved them.
    const ValueRange& default_ends() const { return default_ends_; }
    void say(const std::string& note);
    /// The state that gives the picture of this version again, from nothing.
    ViewState state_shown(const Version& version) const;
    /// Which makes that state's picture again; empty where a program runs the model.
    std::string command_line(const ViewState& shown) const;
    void copy_command_line();
    /// What is shown, for files: the map is finished first.
    ViewSubject subject();
    /// What a saved picture says of itself: model, head, scale, pooling, seed, and the command line.
    PngTexts picture_texts() { return facts_of(subject()); }
    const ViewCounts& counts() const { return a_.data.counts(); }
    void request(Request what) { request_ = what; }
    void set_scale(float scale);
    float scale() const { return options_.scale; }
    /// Draw a few more pictures: widgets need a second look at what was clicked.
    void touch() { pictures_due_ = 3; }

private:
    /// What the user did waits for the next picture. Fields and menus hear of at most one key or button in a picture, and of modifiers not
    /// after it, so that a press and a release between two pictures are both seen.
    enum class Turn : std::uint8_t { any, not_after_key, key };
    void hear(std::function<void(ImGuiIO&)> event, Turn turn = Turn::any);
    void pass_events();
    /// One of the runs that are shown.
    struct RunView {
        RunView(LiveModel& model, const ViewDataOptions& options) : live(model), data(model, options) {}
        LiveModel& live;
        ViewData data;
        const FrameData* frame = nullptr;  ///< null: nothing yet, or it has no such head
        Version version;
        LiveTokens tokens;
        TextLabels labels, source_labels;
        RunningText running_text, running_source;
        std::optional<Cell> asked_cell;  ///< query and key that a reading was asked for, and when
        double asked_at = 0;
        void read(Fonts& fonts);
        RunNow now() const { return {version, tokens}; }
        bool has(const HeadId& head) const { return std::ranges::count(live.heads(), head) != 0; }
    };
    /// The run whose text, numbers and readings are shown.
    const RunView& in_front() const { return shown() == ShownRuns::b ? *b_ : a_; }
    RunView& in_front() { return shown() == ShownRuns::b ? *b_ : a_; }
    template <class Do>
    void each_side(Do what) {
        what(a_);
        if (b_) what(*b_);
    }
    const Slots& row_slots(const RunView& side) const;
    const Slots& key_slots(const RunView& side) const;

    void read_models();
    bool versions_wait() const;
    void wait_for_second_run();
    void label_tokens();
    const std::vector<std::string>& labels() const;
    const std::vector<std::string>& source_labels() const;
    Cell argmax_cell(std::int64_t query) const;
    std::optional<Cell> asked_cell() const;
    Wanted wanted(const RunView& side) const;
    ViewState seen() const;
    void finish_sides(bool newest);
    bool follow_values();
    bool reading_due(RunView& side, double now) const;
    double blink_left(double now) const;
    void update_distances(double now);
    void seek_focus(double now);
    /// Of two runs.
    ShownRows shown_slots() const;
    /// What is wrong with a part that lies outside of the map; empty where it does not.
    std::string nothing_there() const;
    void collect_numbers(const RunView& front);
    /// When the next picture is to be made, on the clock of `now`; infinity: not until something happens.
    double next_picture() const;
    /// When what the user did is worth a picture: when the budget allows for one, or has let him wait long enough.
    double next_of_user() const;
    /// When what the model has done since is worth a picture: not before the budget allows for one.
    double next_of_model() const;
    void arrange(float width, float height);
    void lay_panes();
    void begin_ui(float width, float height);
    void draw_panels();
    void set_colours();
    void set_picture();

    RunView a_;
    std::unique_ptr<RunView> b_;
    std::optional<RunComparison> comparison_;
    std::optional<HeadDistances> distances_;
    std::optional<double> distances_due_;  ///< when there is more to do for them
    std::vector<HeadMeans> numbers_;       ///< of the run in front, with the difference
    ViewState state_;
    /// A run that the model was told to begin: its prompt and sampling become the state's when it has.
    struct AskedRun {
        std::uint64_t run;
        ViewState state;
    };
    std::optional<AskedRun> asked_;
    ViewerOptions options_;
    ValueRange default_ends_;
    std::optional<double> stand_in_;  ///< for the bright end, until it is known
    AttentionScale default_scale_;
    Interaction at_;
    Clipboard clipboard_;
    ImGuiContext* context_ = nullptr;
    Fonts fonts_;
    std::optional<std::string> given_prompt_;  ///< that is not in its field yet
    bool alt_alone_ = false;                   ///< it is down, and nothing else was done since
    /// Of rows and columns where two texts stand on slots of their own, and what they were made of.
    std::vector<std::string> slot_labels_, source_slot_labels_;
    std::array<std::uint64_t, 7> slot_labels_of_{};
    std::shared_ptr<FocusFinder> finder_;  ///< shared with the model's thread
    Drawings drawings_;
    gpu::Buffer colours_;
    gpu::Buffer picture_;  ///< that the model looks at, a word a pixel
    std::optional<std::pair<ColourMap, Theme>> colours_of_;
    Figures figures_;
    std::array<int, 2> size_{};  ///< of the picture, in pixels
    Layout layout_;
    std::vector<Pane> panes_{1};
    struct Event {
        std::function<void(ImGuiIO&)> tell;
        Turn turn;
    };
    std::deque<Event> events_;
    Request request_ = Request::none;
    int pictures_due_ = 3;
    bool reading_due_ = false;
    double now_ = 0, last_picture_ = -1, closed_until_ = 0;
};

/// How one of two runs is called, with that in which it is another than the other one: "A · f16 weights".
std::string side_name(const LiveModel& live, const ViewState& state, bool is_b);

}  // namespace vantage::view
