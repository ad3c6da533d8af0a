#include "viewer/panels/viewer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/gpu/queue.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "viewer/data/training_snapshots.h"
#include "viewer/panels/actions.h"
#include "viewer/panels/areas.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/panes.h"

namespace vantage::view {
namespace {

constexpr double note_seconds = 4;

using ColourWords = std::array<std::uint32_t, 256>;

ViewerOptions with_scale(ViewerOptions options, float scale) {
    if (!std::isfinite(scale)) throw usage_error("the scale of a view must be a number, got {:g}", scale);
    options.scale = std::clamp(scale, 0.5f, 4.0f);
    return options;
}

}  // namespace

Viewer::Viewer(LiveModel& live, const ViewState& state, const ViewerOptions& options)
    : state_(state),
      options_(with_scale(options, options.scale)),
      runs_(live, options.compared, state_, at_, options.budget_percent),
      clock_(live.model().device().caps().is_cpu()),
      ends_(state.modifiers),
      context_(make_context()),
      fonts_(live.model().device(), options_.scale) {
    const ContextInUse in_use(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = io.LogFilename = nullptr;
    name_keys(io);
    if (options_.copy && options_.paste) {
        clipboard_ = {.copy = [this](const std::string& text) { options_.copy(fonts_.of_field(text)); },
                      .paste = [this] { return fonts_.in_field(options_.paste()); }};
        use_clipboard(clipboard_);
    }
    given_prompt_ = config_of(live.model()).sees() ? state_.image : state_.prompt;
    fonts_.need(*given_prompt_);
    at_.sampling = state_.sampling, at_.max_tokens = state_.max_tokens;
    const Caps& caps = live.model().device().caps();
    figures_ = {
        .model = live.model().info().name, .device = caps.name, .software = caps.is_cpu(), .frozen = options.frozen};
}

Viewer::~Viewer() {
    gpu::wait_idle(runs_.a().live.model().device().state());
    ImGui::DestroyContext(context_);
}

// ---- input

void Viewer::hear(std::function<void(ImGuiIO&)> event, InputQueue::Order order) {
    input_.add(std::move(event), order);
    touch();
}

void Viewer::mouse_at(float x, float y) {
    hear([this, x, y](ImGuiIO& io) {
        io.MousePos = {x, y};
        at_.picked.reset();
        at_.picked_token.reset();
    });
}

void Viewer::mouse_left() { mouse_at(-1, -1); }

void Viewer::mouse_button(int button, bool down) {
    if (down) at_.area.reset();  // a number field takes it again
    alt_alone_ = false;
    if (button >= 0 && button < 3)
        hear([button, down](ImGuiIO& io) { io.MouseDown[button] = down; }, InputQueue::Order::key);
}

void Viewer::scrolled(float x, float y) {
    alt_alone_ = false;
    hear([x, y](ImGuiIO& io) {
        io.MouseWheel += y;
        io.MouseWheelH += x;
    });
}

void Viewer::modifiers(bool control, bool shift, bool alt) {
    hear([=](ImGuiIO& io) { send_modifiers(io, control, shift, alt); }, InputQueue::Order::not_after_key);
}

void Viewer::key(const Shortcut& shortcut, EditKey edit, bool down) {
    // Tab goes through all panels, not through the fields of one.
    if (edit != ImGuiKey_Tab)
        hear([edit, down](ImGuiIO& io) { send_key(io, edit, down); },
             edit != no_edit_key ? InputQueue::Order::key : InputQueue::Order::any);
    if (down && edit == ImGuiKey_V && shortcut.control && at_.typing && options_.paste) fonts_.need(options_.paste());
    touch();
    if (down) alt_alone_ = false;
    if (!down || shortcut == Shortcut{}) return;
    const Action* action = options_.keys.action_of(shortcut);
    if (at_.menu && (action == nullptr || action->run != open_or_close_menus)) return act_in_menu(*this, shortcut);
    if (at_.help && !at_.typing && act_in_help(at_, shortcut)) return;
    if (at_.typing ? action == nullptr || !action->typing : act_in_area(*this, shortcut)) return;
    if (action != nullptr) perform(*this, *action);
}

void Viewer::character(char32_t character) {
    touch();
    if (at_.typing) {
        // When the next picture hears of it, it is in the atlas, or known to be in no font.
        const std::string text = encode_utf8(std::u32string(1, character));
        fonts_.need(text);
        return hear([this, text](ImGuiIO& io) { io.AddInputCharactersUTF8(fonts_.in_field(text).c_str()); });
    }
    if (at_.menu) return act_in_menu(*this, character == U' ' ? Shortcut{.key = Key::enter} : Shortcut{});
    if (type_digit(*this, character)) return;
    if (const Action* action = options_.keys.action_of({.character = character})) perform(*this, *action);
}

void Viewer::alt_key(bool down) {
    if (!down && alt_alone_) open_or_close_menus(*this);
    alt_alone_ = down;
    touch();
}

void Viewer::focus_lost() { alt_alone_ = false; }

// ---- commands

void Viewer::say(const std::string& note) {
    at_.note = note;
    at_.note_until.reset();
}

void Viewer::set_scale(float scale) {
    options_ = with_scale(options_, scale);
    fonts_.resize(options_.scale);
    touch();
}

const char* Viewer::why_not_commanded() const {
    if (runs_.a().live.commanded()) return nullptr;
    return training() != nullptr ? "the model is being trained: it reads only the text of --probe"
                                 : "a program runs this model: the viewer cannot control it";
}

bool Viewer::commanded() {
    const char* why = why_not_commanded();
    if (why != nullptr) say(why);
    return why == nullptr;
}

/// Both runs, unless the second reads what the first writes: then it follows by itself.
template <class Do>
void Viewer::each_commanded(Do what) {
    if (!commanded()) return;
    what(runs_.a().live);
    if (runs_.compares() && runs_.comparison()->own_text()) what(runs_.b()->live);
}

void Viewer::pause_or_resume() {
    const bool paused = runs_.a().live.version().activity == Activity::paused;
    each_commanded([&](LiveModel& live) { paused ? live.resume() : live.pause(); });
}

void Viewer::step() {
    each_commanded([](LiveModel& live) { live.step(); });
}

void Viewer::set_speed(double tokens_per_second) {
    each_commanded([&](LiveModel& live) { live.set_speed(tokens_per_second); });
}

void Viewer::stop() {
    each_commanded([](LiveModel& live) { live.stop(); });
}

void Viewer::run_prompt() {
    if (!commanded()) return;
    LiveModel& live = runs_.a().live;
    ViewState wanted = state_;
    (config_of(live.model()).sees() ? wanted.image : wanted.prompt) = fonts_.of_field(at_.prompt);
    wanted.sampling = at_.sampling, wanted.max_tokens = at_.max_tokens;
    const std::uint64_t run = live.version().run + 1;
    try {
        live.start(options_.prompt ? options_.prompt(wanted) : LivePrompt{.text = wanted.prompt}, wanted.sampling,
                   wanted.max_tokens);
    } catch (const Error& error) {
        return say(error.what());  // the file is not a picture: the run does not change
    }
    at_.note.clear();
    asked_ = AskedRun{run, wanted};
    state_.rows.reset();
    state_.part.reset();
    state_.pins.clear();
    try {
        runs_.start_second(wanted);
    } catch (const Error& error) {
        say(std::string("B: ") + error.what());
    }
    at_.picked.reset();
    touch();
}

void Viewer::run_or_stop() {
    const Activity activity = runs_.a().version.activity;
    if (activity == Activity::reading || activity == Activity::writing)
        stop();
    else
        run_prompt();
}

void Viewer::show(ShownRuns what) {
    at_.blink_from.reset();
    const bool before = state_.shown == ShownRuns::difference, now = what == ShownRuns::difference;
    if (now && !before)
        at_.before_difference = {state_.shown, std::exchange(state_.statistic, HeadStatistic::difference)};
    if (before && !now && state_.statistic == HeadStatistic::difference)
        state_.statistic = at_.before_difference.statistic;
    state_.shown = what;
}

void Viewer::toggle_thumbnails() {
    state_.mini_maps = !state_.mini_maps;
    const float side = lay_head_cells(layout_.heads, head_grid(runs_.a().live), options_.scale).side();
    const std::string key = text_of(options_.keys.of(action_named("large-heads")));
    if (state_.mini_maps && layout_.heads.wide <= 0)
        say("no room for the heads: make the window larger");
    else if (state_.mini_maps && side < std::round(min_thumbnail * options_.scale))
        say(format("thumbnails of {:.0f} pixels show little: ", side) + (state_.large_heads ? "" : key + " or ") +
            "a larger window enlarges them");
}

void Viewer::toggle_blinking() {
    if (at_.blink_from)
        at_.blink_from.reset();
    else
        at_.blink_from = std::numeric_limits<double>::infinity();  // begins with the next picture
}

void Viewer::copy_command_line() {
    const std::string line =
        command_line(runs_.a().live, state_shown(runs_, state_, runs_.a().version), command_context());
    if (line.empty()) return say("a program runs this model: no command line makes the same view");
    if (options_.copy) options_.copy(line);
    say("copied: " + line);
}

ViewSubject Viewer::subject() {
    finish_runs(false);
    ViewSubject subject = subject_of(runs_, state_, command_context());
    if (training() != nullptr) subject.training_step = training()->shown().step;
    return subject;
}

// ---- the steps of a picture

void Viewer::set_colours() {
    const std::pair now{state_.colours, state_.theme};
    if (colours_of_ == now) return;
    std::array<ColourWords, 2> words{};
    const ColourTable& table = vantage::colours_of(state_.colours, palette_of(state_.theme).dark);
    const ColourTable& signed_table = difference_colours(palette_of(state_.theme).dark);
    std::ranges::transform(table, words[0].begin(), [](Rgb colour) { return packed(colour); });
    std::ranges::transform(signed_table, words[1].begin(), [](Rgb colour) { return packed(colour); });
    colours_ = written_once(runs_.a().live.model().device(), std::as_bytes(std::span(words)), "colour map");
    colours_of_ = now;
}

void Viewer::set_picture() {
    if (runs_.a().tokens.seen == nullptr) return;
    const Image& seen = *runs_.a().tokens.seen;
    std::vector<std::uint32_t> words;
    for (int y = 0; y < seen.height; ++y)
        for (int x = 0; x < seen.width; ++x) words.push_back(packed(seen.at(x, y)));
    picture_ = written_once(runs_.a().live.model().device(), std::as_bytes(std::span(words)), "picture");
}

void Viewer::read_models() {
    const RunView& a = runs_.a();
    const std::shared_ptr<const Image> seen = a.tokens.seen;
    if (training() != nullptr && training()->show(at_.step)) new_step_ = true;
    if (at_.step) at_.step = training()->shown().step;  // that step may have been dropped
    runs_.read(fonts_);
    if (a.tokens.seen != seen) set_picture();
    if (!asked_ || a.version.run < asked_->run) return;
    const ViewState& asked = asked_->state;
    state_.prompt = asked.prompt, state_.image = asked.image;
    state_.sampling = asked.sampling, state_.max_tokens = asked.max_tokens;
    asked_.reset();
}

// The keys of the head in focus are an image's patches.
bool Viewer::shows_image() const {
    const ModelConfig& config = config_of(runs_.a().live.model());
    return config.is_vision() || (config.sees() && runs_.head().kind != AttentionKind::self);
}

const char* Viewer::why_not_relative() const {
    if (runs_.head().kind == AttentionKind::cross)
        return "cross-attention has no relative positions: its keys are another text";
    return shows_image() ? "image patches have no relative positions: they are a 2D grid" : nullptr;
}

/// Another head may have no distances: the axis goes back to keys.
void Viewer::refuse_relative_axis() {
    const char* why = why_not_relative();
    if (state_.axis != KeyAxis::relative || why == nullptr) return;
    state_.axis = KeyAxis::absolute;
    state_.part.reset();
    say(why);
}

/// Fonts, labels, panels and maps, for a target of this size.
void Viewer::arrange(float width, float height) {
    const std::array size_before = std::exchange(size_, {static_cast<int>(width), static_cast<int>(height)});
    refuse_relative_axis();
    fonts_.update();
    if (given_prompt_) at_.prompt = fonts_.in_field(*std::exchange(given_prompt_, std::nullopt));
    apply(palette_of(state_.theme), options_.scale);
    runs_.update_labels(fonts_);
    // A prompt that is edited is visible, however small the window.
    const bool prompted = at_.focus_prompt || (at_.typing && !at_.find) || (at_.area && *at_.area >= Area::prompt);
    const LiveModel& live = runs_.a().live;
    const ModelConfig& config = config_of(live.model());
    at_.first_query = config.is_vision() || (config.sees() && runs_.head().kind == AttentionKind::encoder);
    figures_.error = runs_.error();
    const LayoutWishes wishes{
        .heads = head_grid(live),
        .image = shows_image(),
        .two_texts = live.model().info().attends(AttentionKind::cross),
        .prompt = prompted,
        .large_heads = state_.large_heads,
        .sizes = state_.panels,
        .text_lines = at_.text_lines,
        .message = error_height(fonts_.small, figures_.error, message_width(width, options_.scale), options_.scale)};
    // The first layout is compared with that of a window which has room for all panels.
    const float ample = 4000 * options_.scale;
    const Layout before = size_before == std::array{0, 0} ? lay_out(ample, ample, options_.scale, wishes) : layout_;
    layout_ = lay_out(width, height, options_.scale, wishes);
    if (before.tokens.wide != layout_.tokens.wide || before.tokens.high != layout_.tokens.high)
        at_.shown_queries = {-1, -1};  // in other lines the query may be out of sight
    // Not while a prompt is edited: it has the room of others until it is run.
    const bool sized = std::exchange(arranged_sizes_, state_.panels) != state_.panels,
               resized = !options_.frozen && (sized || size_before != size_ || before.bar.high != layout_.bar.high);
    if (const std::string missing = missing_panels(before, layout_); resized && !missing.empty())
        say("no room for: " + missing + ". A larger window or a smaller interface (" +
            text_of(options_.keys.of(action_named("smaller"))) + ") shows it again");
    // Assigned in place: who holds a pane, as a test does over a screenshot, sees it move.
    const auto panes = lay_panes(runs_, state_, fonts_, layout_.focus, options_.scale);
    panes_.assign(panes.begin(), panes.end());
}

Wanted Viewer::wanted(const RunView& run) const {
    return runs_.wanted(run, panes_.front().map, numbered_cell * options_.scale);
}

void Viewer::update_runs(double now) {
    reading_due_ = false;
    runs_.count_differences();
    runs_.each([&](RunView& run) {
        const Wanted what = wanted(run);
        run.frame = run.has(what.head) ? &run.data.update(runs_.seen(), what, now) : nullptr;
        reading_due_ = run.waits_for_reading(what, now) || reading_due_;
    });
    if (follow_values()) touch();
    runs_.update_distances(now);
}

/// Twice where the first pass tells the ends of the colour bar, along which cells are counted.
void Viewer::finish_runs(bool newest) {
    do {
        runs_.count_differences();
        runs_.each([&](RunView& run) {
            const Wanted what = wanted(run);
            run.frame = run.has(what.head) ? &run.data.finish(runs_.seen(), what, newest) : nullptr;
        });
        newest = false;
    } while (follow_values());
}

bool Viewer::follow_values() {
    const bool difference = runs_.compares() && difference_end_.follow(state_, runs_.usual_difference());
    const bool ends = !at_.bar && ends_.follow(state_, runs_.largest_value());  // not while an end is dragged
    return difference || ends;
}

void Viewer::note_frame(double now, double device_seconds, double host_seconds) {
    ViewData& data = runs_.a().data;
    data.note_frame(now, device_seconds, host_seconds);
    figures_.frame_seconds = device_seconds;
    clock_.set_budget_opens(now + data.budget().opens_in(now));
}

PicturesWanted Viewer::pictures_wanted() const {
    const bool step = training() != nullptr && training()->is_news(at_.step);
    PicturesWanted wanted{.news = step || runs_.versions_wait() || runs_.finder().answered(), .reading = reading_due_};
    if (at_.blink_from) wanted.change_at = clock_.last() + runs_.blink_left(clock_.last());
    if (!at_.note.empty() && at_.note_until) wanted.change_at = std::min(wanted.change_at, *at_.note_until);
    if (const auto due = runs_.distances_due()) wanted.refine_at = *due;
    for (const RunView* run : {&runs_.a(), runs_.b()})
        if (run != nullptr && run->frame != nullptr && run->frame->busy)
            wanted.refine_at = std::min(wanted.refine_at, clock_.last() + run->frame->wake_in);
    return wanted;
}

bool Viewer::due(double now) const { return now >= clock_.next(pictures_wanted()); }

double Viewer::wake_in(double now) const {
    constexpr double longest = 1;
    return std::clamp(clock_.next(pictures_wanted()) - now, 0.0, longest);
}

void Viewer::begin_ui(float width, float height) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {width, height};
    io.DeltaTime = options_.frozen ? 1.0f / 60 : static_cast<float>(std::clamp(now_ - clock_.last(), 1e-4, 1.0));
    if (!input_.deliver(io)) touch();
    ImGui::NewFrame();
    at_.typing = io.WantTextInput;
    if (!at_.note_until) at_.note_until = now_ + note_seconds;
    if (now_ >= *at_.note_until) at_.note.clear();
}

/// What panels need to show this run.
Ui Viewer::ui_of(RunView& run) {
    const HeadId head = runs_.head();
    Ui ui{.state = state_,
          .at = at_,
          .layout = layout_,
          .fonts = fonts_,
          .palette = palette_of(state_.theme),
          .keys = options_.keys,
          .scale = options_.scale,
          .run = run,
          .figures = figures_,
          .focus = {.head = head,
                    .row_labels = head.kind == AttentionKind::encoder ? runs_.source_labels() : runs_.labels(),
                    .key_labels = head.kind == AttentionKind::self ? runs_.labels() : runs_.source_labels(),
                    .row_slots = runs_.row_slots(run),
                    .key_slots = runs_.key_slots(run),
                    .all_rows = runs_.all_rows(),
                    .own_column = runs_.own_column(),
                    .key = at_.cell() ? runs_.key_of(*at_.cell()) : std::nullopt,
                    .why_no_weight = runs_.why_no_weight(run)},
          .heads = runs_.head_numbers(),
          .default_ends = ends_.defaults(),
          .surface = {drawings_, colours_, picture_}};
    const auto title = [&](const RunView& of, bool is_b) {
        const double speed = of.version.tokens_per_second;
        return run_name(of.live, state_, is_b) + (options_.frozen || speed <= 0 ? "" : " · " + speed_text(speed));
    };
    if (RunView* a = &runs_.a(), *b = runs_.b(); b != nullptr)
        ui.focus.two.emplace(TwoRuns{.comparison = *runs_.comparison(),
                                     .shown = runs_.shown(),
                                     .runs = {a, b},
                                     .names = {title(*a, false), title(*b, true)}});
    return ui;
}

void Viewer::draw_panels() {
    drawings_.clear();
    const auto there = [&](RunView& run) -> RunView& { return run.frame != nullptr ? run : runs_.a(); };
    RunView& front = there(runs_.front());
    runs_.collect_numbers(front);
    const Ui ui = ui_of(front), of_cell = ui_of(there(runs_.of_cell()));
    if (std::exchange(at_.leave_field, false)) ImGui::SetWindowFocus(nullptr);
    if (layout_.too_small) return draw_too_small(ui);
    draw_status_bar(ui);
    draw_error(ui);
    draw_head_map(ui);
    draw_focus(ui, of_cell, panes_);
    draw_numbers(ui);
    draw_inspector(of_cell);
    front.tokens.patches_in_keys(runs_.head().kind) ? draw_image(ui) : draw_tokens(ui);
    draw_timeline(ui);
    training() != nullptr ? draw_steps(ui, *training()) : draw_prompt(ui, *this);
    draw_splitters(ui);
    if (at_.help) draw_help(ui);
    if (at_.find) draw_find(ui, *this);
    draw_area_frame(ui, panes_.back().places);
    draw_open_menu(ui, *this);
}

/// Texts and data of the same version, and all of that version's data. The data takes a newer version than the texts if
/// the model publishes one in between: then the texts follow.
void Viewer::finish_one_version(float width, float height) {
    const auto in_step = [](const RunView& run) {
        return run.frame == nullptr || run.frame->version.number == run.version.number;
    };
    constexpr int tries = 100;
    for (int i = 0; i < tries && !(in_step(runs_.a()) && (!runs_.b() || in_step(*runs_.b()))); ++i) {
        read_models();
        arrange(width, height);
        runs_.each([&](RunView& run) { run.data.budget().allow(now_); });
        update_runs(now_);
    }
    finish_runs(false);
    finish_runs(false);  // the first pass tells which key the row attends to most; its reading comes with the second
}

void Viewer::draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now, bool whole) {
    const ContextInUse in_use(context_);
    now_ = now;
    runs_.set_time(now);
    if (whole || clock_.touched()) runs_.each([&](RunView& run) { run.data.budget().allow(now); });
    if (at_.blink_from) at_.blink_from = std::min(*at_.blink_from, now);
    const auto width = static_cast<float>(target.width), height = static_cast<float>(target.height);
    read_models();
    const RunView& a = runs_.a();
    if (a.version.activity == Activity::ended &&
        (!runs_.compares() || runs_.comparison()->settled(a.version, runs_.b()->version)))  // before, it may still come
        if (const std::string wrong = runs_.place_error(); !wrong.empty()) {
            state_.part.reset(), state_.rows.reset(), state_.pins.clear();
            say(wrong);
        }
    // Of a model that learns, the newest step answers.
    const bool searches = training() == nullptr || (!state_.head && !at_.step);
    if (const auto error = searches ? runs_.search_head(now) : std::nullopt) say(*error);
    arrange(width, height);
    set_colours();
    update_runs(now);
    // All data of one step, so that nothing is empty for a moment: the text of a training run is short.
    if (std::exchange(new_step_, false) || whole) finish_one_version(width, height);
    begin_ui(width, height);
    draw_panels();
    cursor_ = ImGui::GetMouseCursor();
    ImGui::Render();
    paint(frame, pipelines, target, fonts_, *ImGui::GetDrawData(), unpacked(palette_of(state_.theme).background));
    clock_.drawn(now);
    if (std::exchange(at_.scrolled, false)) touch();
}

void Viewer::finish(std::uint32_t width, std::uint32_t height) {
    const ContextInUse in_use(context_);
    RunView& a = runs_.a();
    a.version = a.live.version();
    if (runs_.compares()) runs_.wait_for_second(fonts_);
    runs_.finder().wait(a.live, a.version);
    if (const auto error = runs_.finder().take_error()) log(LogLevel::warning, "{}", *error);
    read_models();
    arrange(static_cast<float>(width), static_cast<float>(height));
    if (const std::string wrong = runs_.place_error(); !wrong.empty()) throw usage_error("view: {}", wrong);
    finish_runs(true);
    runs_.finish_distances();
}

}  // namespace vantage::view
