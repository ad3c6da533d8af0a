#include "viewer/panels/viewer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/gpu/commands.h"
#include "runtime/models/config.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr double note_seconds = 4;
constexpr double longest_user_wait = 0.25;    // for a picture that the budget does not allow
constexpr double reading_wait = 0.01;         // from picture to picture while a reading is on its way
constexpr double cpu_pictures_a_second = 10;  // of a model at work, on devices that draw with the model's own cores
constexpr float pane_title_height = 20;       // above a map of one of two runs

using ColourWords = std::array<std::uint32_t, 256>;

float longest_width(const Face& face, const std::vector<std::string>& labels, std::int64_t count) {
    // Of a long text a part tells enough, and asking for all of it would cost more than the picture.
    constexpr std::size_t most_asked = 512;
    float longest = 0;
    for (std::size_t i = 0; i < std::min({labels.size(), most_asked, static_cast<std::size_t>(count)}); ++i)
        longest = std::max(longest, width_of(face, labels[i]));
    return longest;
}

ViewDataOptions data_options(const LiveModel& live, const ViewerOptions& options) {
    ViewDataOptions data{.budget_percent = options.budget_percent};
    if (options.compared == nullptr) return data;
    data.most_slots = live.context() + options.compared->context();
    if (data.budget_percent) *data.budget_percent /= 2;  // each run has its own
    return data;
}

/// Labels of rows on which two texts stand: of one token, where both have the same, else of what A has and of what B has.
std::vector<std::string> slot_labels(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                     const Alignment& slots) {
    std::vector<std::string> labels;  // none where slots are tokens
    for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
        const auto of = [&](const Slots& side, const std::vector<std::string>& all) {
            const auto token = side.token(slot);
            return token ? label_of(all, *token) : "–";
        };
        const std::string left = of(slots.a, a), right = of(slots.b, b);
        labels.push_back(left == right ? left : left + " | " + right);
    }
    return labels;
}

ViewerOptions with_scale(ViewerOptions options, float scale) {
    options.scale = std::clamp(scale, 0.5f, 4.0f);
    return options;
}

}  // namespace

Viewer::Viewer(LiveModel& live, const ViewState& state, const ViewerOptions& options)
    : a_(live, data_options(live, options)),
      state_(state),
      options_(with_scale(options, options.scale)),
      usual_ends_(usual_range(state.modifiers)),
      usual_scale_(usual_scale(state.modifiers)),
      context_(make_context()),
      fonts_(live.model().device(), options_.scale),
      finder_(std::make_shared<FocusFinder>()) {
    const ContextInUse in_use(context_);
    if (options.compared != nullptr) {
        b_ = std::make_unique<Side>(*options.compared, data_options(live, options));
        comparison_.emplace(live, *options.compared);
        comparison_->start(state_);
        distances_.emplace(live, *options.compared);
    }
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = io.LogFilename = nullptr;
    name_keys(io);
    if (options_.copy && options_.paste) {
        clipboard_ = {.copy = [this](const std::string& text) { options_.copy(fonts_.of_field(text)); },
                      .paste = [this] { return fonts_.in_field(options_.paste()); }};
        use_clipboard(clipboard_);
    }
    given_prompt_ = live.model().config().sees() ? state_.image : state_.prompt;
    fonts_.need(*given_prompt_);
    at_.sampling = state_.sampling, at_.max_tokens = state_.max_tokens;
    const Caps& caps = live.model().device().caps();
    figures_ = {
        .model = live.model().info().name, .device = caps.name, .software = caps.is_cpu(), .frozen = options.frozen};
}

Viewer::~Viewer() {
    gpu::wait_idle(a_.live.model().device().state());
    ImGui::DestroyContext(context_);
}

HeadPlace Viewer::head() const {
    if (state_.head) return *state_.head;
    if (const auto found = finder_->found()) return *found;
    const auto own = std::ranges::find(a_.live.heads(), AttentionOf::self, &HeadPlace::of);
    return own != a_.live.heads().end() ? *own : a_.live.heads().front();
}

std::int64_t Viewer::all_rows() const { return b_ ? comparison_->rows_of(head().of) : a_.version.rows_of(head().of); }

std::int64_t Viewer::rows() const { return state_.rows ? std::min(*state_.rows, all_rows()) : all_rows(); }

std::int64_t Viewer::keys() const {
    if (head().of == AttentionOf::self) return rows();
    return b_ ? comparison_->keys_of(head().of) : a_.version.keys_of(head().of);
}

std::int64_t Viewer::own_column() const {
    const bool causal = a_.live.source(head().layer, head().of).attrs.flag("causal");
    return state_.axis == KeyAxis::absolute || causal ? 0 : std::max<std::int64_t>(keys() - 1, 0);
}

std::int64_t Viewer::columns() const { return own_column() > 0 ? rows() + own_column() : keys(); }

Rectangle Viewer::part() const { return state_.part ? *state_.part : whole_map(rows(), columns()); }

void Viewer::run_prompt() {
    if (!obeyed()) return;
    ViewState wanted = state_;
    (a_.live.model().config().sees() ? wanted.image : wanted.prompt) = fonts_.of_field(at_.prompt);
    wanted.sampling = at_.sampling, wanted.max_tokens = at_.max_tokens;
    const std::uint64_t run = a_.live.version().run + 1;
    try {
        a_.live.start(options_.prompt ? options_.prompt(wanted) : LivePrompt{.text = wanted.prompt}, wanted.sampling,
                      wanted.max_tokens);
    } catch (const Error& error) {
        return say(error.what());  // of a file that is no picture; what was there stays
    }
    asked_ = AskedRun{run, wanted};
    state_.rows.reset();
    state_.part.reset();
    state_.pins.clear();
    if (b_) comparison_->start(wanted);
    at_.picked.reset();
    touch();
}

void Viewer::run_or_stop() {
    if (!obeyed()) return;
    const Activity activity = a_.version.activity;
    if (activity == Activity::reading || activity == Activity::writing)
        stop();
    else
        run_prompt();
}

bool Viewer::obeyed() {
    if (!a_.live.commanded()) say("the program that opened this view runs the model");
    return a_.live.commanded();
}

void Viewer::say(const std::string& note) {
    at_.note = note;
    at_.note_until.reset();
}

// A run that was stopped, stepped on or is still at work has other tokens than its end will have, and maybe fewer rows.
ViewState Viewer::state_shown(const Version& version) const {
    ViewState shown = state_;
    shown.head = head();
    if (b_) shown.shown = this->shown();
    if (version.activity == Activity::ended && version.as_asked) {
        if (!shown.rows && b_ && !comparison_->settled(a_.version, b_->version))
            shown.rows = std::max<std::int64_t>(all_rows(), 1);  // those that the second has come to
        return shown;
    }
    shown.max_tokens = std::max<std::int64_t>(version.tokens - version.prompt_tokens, 0);
    shown.sampling.ignore_end = shown.sampling.ignore_end || version.past_end;
    const std::int64_t rows = version.prompt_tokens + std::max<std::int64_t>(shown.max_tokens - 1, 0);
    if (!shown.rows && version.rows < rows)
        shown.rows = std::max<std::int64_t>(b_ ? all_rows() : version.rows_of(head().of), 1);
    return shown;
}

std::string Viewer::command_line(const ViewState& shown) const {
    if (!a_.live.commanded()) return "";
    std::string line = options_.command;
    if (const std::string words = as_command_line(shown); !words.empty()) line += " " + words;
    line += format(" --size %dx%d", size_[0], size_[1]);
    if (options_.scale != 1) line += format(" --ui-scale %g", static_cast<double>(options_.scale));
    return line;
}

void Viewer::copy_command_line() {
    const std::string line = command_line(state_shown(a_.version));
    if (line.empty()) return say("a program runs this model: no command line makes this view");
    if (options_.copy) options_.copy(line);
    say("copied: " + line);
}

ViewSubject Viewer::subject() {
    finish_sides(false);
    ViewSubject subject = subject_of(a_.live, a_.data, *a_.frame, state_shown(a_.frame->version), head());
    subject.command = command_line(subject.state);
    if (!b_) return subject;
    distances_->finish(*comparison_, shown_slots());
    const auto slots = [&](bool keys) {
        const auto of = [&](bool b) {
            const SideSlots& side = comparison_->slots(b);
            return keys ? side.keys_of(head().of) : side.rows_of(head().of);
        };
        return Alignment{of(false), of(true)};
    };
    subject.second = SecondSubject{.name_a = side_name(a_.live, state_, false),
                                   .name_b = side_name(b_->live, state_, true),
                                   .tokens = b_->tokens,
                                   .cells = b_->frame != nullptr ? b_->data.read_cells() : MapCells(),
                                   .rows = slots(false),
                                   .keys = slots(true),
                                   .distance = distances_->of(head())};
    return subject;
}

void Viewer::set_scale(float scale) {
    options_ = with_scale(options_, scale);
    fonts_.resize(options_.scale);
    touch();
}

Request Viewer::take_request() { return std::exchange(request_, Request::none); }

void Viewer::note_frame(double now, double device_seconds, double host_seconds) {
    a_.data.note_frame(now, device_seconds, host_seconds);
    figures_.gfx_seconds = device_seconds;
    closed_until_ = now + a_.data.budget().opens_in(now);
}

double Viewer::next_of_user() const { return std::min(closed_until_, last_picture_ + longest_user_wait); }

double Viewer::next_of_model() const {
    return std::max(closed_until_, last_picture_ + (figures_.software ? 1 / cpu_pictures_a_second : 0));
}

// ---- when there is something new to show ------------------------------------------------------------------------------

bool Viewer::versions_wait() const {
    return a_.live.version().number != a_.version.number || (b_ && b_->live.version().number != b_->version.number);
}

double Viewer::next_picture() const {
    if (pictures_due_ > 0) return next_of_user();
    double next = std::numeric_limits<double>::infinity();
    if (reading_due_) next = std::max(closed_until_, last_picture_ + reading_wait);
    if (at_.blink_from) next = std::min(next, last_picture_ + blink_left(last_picture_));
    if (!at_.note.empty() && at_.note_until) next = std::min(next, *at_.note_until);
    if (versions_wait() || finder_->answered())
        return std::min(next, next_of_model());  // what is refined comes with it
    if (distances_due_) next = std::min(next, *distances_due_);
    const auto wake = [&](const FrameData* frame) {
        if (frame != nullptr && frame->busy) next = std::min(next, last_picture_ + frame->wake_in);
    };
    wake(a_.frame);
    if (b_) wake(b_->frame);
    return next;
}

bool Viewer::due(double now) const { return now >= next_picture(); }

double Viewer::wake_in(double now) const {
    constexpr double longest = 1;
    return std::clamp(next_picture() - now, 0.0, longest);
}

// ---- the runs ---------------------------------------------------------------------------------------------------------

void Viewer::Side::read(Fonts& fonts) {
    version = live.version();
    const std::uint64_t run = tokens.run;
    std::size_t known = tokens.texts.size(), source_known = tokens.source_texts.size();
    live.read_tokens(tokens);
    if (tokens.run != run) known = source_known = 0;
    for (const std::string& text : std::span(tokens.texts).subspan(known)) fonts.need(text);
    for (const std::string& text : std::span(tokens.source_texts).subspan(source_known)) fonts.need(text);
}

void Viewer::read_models() {
    const std::shared_ptr<const Image> seen = a_.tokens.seen;
    each_side([&](Side& side) { side.read(fonts_); });
    if (a_.tokens.seen != seen) set_picture();
    if (asked_ && a_.version.run >= asked_->run) {
        const ViewState& asked = asked_->state;
        state_.prompt = asked.prompt, state_.image = asked.image;
        state_.sampling = asked.sampling, state_.max_tokens = asked.max_tokens;
        asked_.reset();
    }
    if (b_) {
        comparison_->update(a_.now(), b_->now());
        a_.data.set_slots(comparison_->slots(false));
        b_->data.set_slots(comparison_->slots(true));
    }
}

const Slots& Viewer::row_slots(const Side& side) const {
    static const Slots plain;
    return b_ ? comparison_->slots(&side != &a_).rows_of(head().of) : plain;
}

const Slots& Viewer::key_slots(const Side& side) const {
    static const Slots plain;
    return b_ ? comparison_->slots(&side != &a_).keys_of(head().of) : plain;
}

void Viewer::label_tokens() {
    each_side([&](Side& side) {
        side.labels.update({side.tokens.run, side.tokens.texts}, fonts_);
        side.source_labels.update({side.tokens.run, side.tokens.source_texts}, fonts_);
    });
    if (!b_) return;
    const std::array<std::uint64_t, 7> now{
        comparison_->slots(false).number, a_.tokens.run,           b_->tokens.run,
        a_.tokens.texts.size(),           b_->tokens.texts.size(), a_.tokens.source_texts.size(),
        b_->tokens.source_texts.size()};
    if (std::exchange(slot_labels_of_, now) == now) return;
    slot_labels_ = slot_labels(a_.labels.all(), b_->labels.all(), comparison_->own());
    source_slot_labels_ = slot_labels(a_.source_labels.all(), b_->source_labels.all(), comparison_->source());
}

const std::vector<std::string>& Viewer::labels() const {
    return b_ && !comparison_->own().a.plain() ? slot_labels_ : a_.labels.all();
}

const std::vector<std::string>& Viewer::source_labels() const {
    return b_ && !comparison_->source().a.plain() ? source_slot_labels_ : a_.source_labels.all();
}

void Viewer::set_colours() {
    const std::pair now{state_.colours, state_.theme};
    if (colours_of_ == now) return;
    std::array<ColourWords, 2> words{};
    const ColourTable& table = vantage::colours_of(state_.colours);
    const ColourTable& signed_table = difference_colours(palette_of(state_.theme).dark);
    std::ranges::transform(table, words[0].begin(), [](Rgb colour) { return packed(colour); });
    std::ranges::transform(signed_table, words[1].begin(), [](Rgb colour) { return packed(colour); });
    colours_ = written_once(a_.live.model().device(), std::as_bytes(std::span(words)), "colour map");
    colours_of_ = now;
}

void Viewer::set_picture() {
    if (a_.tokens.seen == nullptr) return;
    const Image& seen = *a_.tokens.seen;
    std::vector<std::uint32_t> words;
    for (int y = 0; y < seen.height; ++y)
        for (int x = 0; x < seen.width; ++x) words.push_back(packed(seen.at(x, y)));
    picture_ = written_once(a_.live.model().device(), std::as_bytes(std::span(words)), "picture");
}

// ---- where things are -------------------------------------------------------------------------------------------------

/// The maps of the panel of the focused head; of two the left one has no colour bar.
void Viewer::lay_panes() {
    const Face face{fonts_.small, fonts_.small_size};
    const float row_label = longest_width(face, head().of == AttentionOf::encoder ? source_labels() : labels(), rows());
    const float key_label =
        state_.axis == KeyAxis::relative
            ? width_of(face, "00000")
            : longest_width(face, head().of == AttentionOf::self ? labels() : source_labels(), columns());
    const Shown now = shown();
    const Box& all = layout_.focus;
    panes_.assign(1, {.shown = now, .box = all});
    if (now == Shown::both) {
        const float bar = focus_bar_width(all.wide / 2, options_.scale), half = std::floor((all.wide - bar) / 2);
        panes_.assign(2, {.shown = Shown::a, .box = {all.x, all.y, half + bar, all.high}, .last = false});
        panes_[1].shown = Shown::b, panes_[1].last = true;
        panes_[1].box = {all.x + half, all.y, all.wide - half, all.high};
    }
    const float title = b_ ? std::round(options_.scale * pane_title_height) : 0;
    for (Pane& pane : panes_) {
        pane.box.y += title, pane.box.high -= title;
        pane.places = focus_places(pane.box, part(), row_label, key_label, options_.scale);
        pane.map = {part(), pane.places.map, rows(), columns()};
    }
}

/// Letters, panels and the maps' places, for a target of this size.
void Viewer::arrange(float width, float height) {
    size_ = {static_cast<int>(width), static_cast<int>(height)};
    const bool apart = head().of == AttentionOf::cross, picture = a_.live.model().config().sees();
    if (state_.axis == KeyAxis::relative && (apart || picture)) {
        state_.axis = KeyAxis::absolute;
        state_.part.reset();
        say(apart ? "cross attention reads another text: its keys lie at no distance"
                  : "patches lie in two directions: they have no distance along a line");
    }
    fonts_.update();
    if (given_prompt_) at_.prompt = fonts_.in_field(*std::exchange(given_prompt_, std::nullopt));
    apply(palette_of(state_.theme), options_.scale);
    label_tokens();
    // While a prompt is edited it is seen, however small the window.
    const bool prompted = at_.focus_prompt || (at_.typing && !at_.find) || (at_.area && *at_.area >= Area::prompt);
    layout_ = lay_out(width, height, options_.scale,
                      {.heads = head_grid(a_.live),
                       .image = a_.live.model().config().sees(),
                       .two_texts = a_.live.model().info().layers_of(AttentionOf::cross) > 0,
                       .prompt = prompted});
    lay_panes();
}

// ---- what is read ---------------------------------------------------------------------------------------------------

/// The cell of what a query reads most, as soon as that is known.
Cell Viewer::read_most(std::int64_t query) const {
    const Side& side = in_front();
    if (side.frame != nullptr && side.frame->reading) {
        const CellReading& reading = *side.frame->reading;
        if (reading.head == head() && row_slots(side).slot_of(reading.query) == query && !reading.top.empty())
            return {query, key_slots(side).slot_of(reading.top.front().key)};
    }
    return {query, 0};
}

std::optional<std::int64_t> Viewer::key_of(const Cell& cell) const {
    if (state_.axis == KeyAxis::absolute) return cell.second;
    const auto query = row_slots().token(cell.first);
    const Slots& slots = key_slots(in_front());
    if (!query) return std::nullopt;
    const std::int64_t key = *query + own_column() - cell.second;
    return key >= 0 && key < slots.tokens_before(keys()) ? std::optional(slots.slot_of(key)) : std::nullopt;
}

/// The query and the key that are asked about.
std::optional<Cell> Viewer::asked_cell() const {
    if (rows() == 0) return std::nullopt;
    const auto cell = at_.cell();
    if (!cell) return read_most(at_.query(state_, rows()));
    const auto key = key_of(*cell);
    return key && cell->first < rows() ? std::optional(Cell{cell->first, *key}) : std::nullopt;
}

Wanted Viewer::wanted(const Side& side) const {
    const MapView& map = panes_.front().map;
    Wanted w{.head = head(),
             .part = part(),
             .pixels_high = static_cast<double>(map.box.high),
             .pixels_wide = static_cast<double>(map.box.wide),
             .mini_maps = state_.mini_maps,
             .counted = at_.bar};
    if (map.pixels_per_row() >= static_cast<double>(numbered_cell * options_.scale) &&
        map.pixels_per_column() >= static_cast<double>(numbered_cell * options_.scale))
        w.numbers = Rectangle{std::floor(w.part.first_row), std::ceil(w.part.last_row), std::floor(w.part.first_column),
                              std::ceil(w.part.last_column)};
    if (const auto cell = asked_cell()) {
        const auto query = row_slots(side).token(cell->first), key = key_slots(side).token(cell->second);
        if (query && key) w.under_mouse = {*query, *key};
    }
    if (rows() > 0) w.reader = row_slots(side).token(at_.query(state_, rows()));
    return w;
}

/// What a run has for the next picture; with `finish` all of it, which takes its time.
const FrameData* Viewer::update(Side& side, Update how, double now) {
    if (!side.has(head())) return nullptr;
    ViewState seen = state_;
    if (b_) seen.rows = rows();  // that both have
    const Wanted what = wanted(side);
    switch (how) {
        case Update::once: break;
        case Update::finished: return &side.data.finish(seen, what);
        case Update::finished_as_drawn: return &side.data.finish(seen, what, false);
    }
    return &side.data.update(seen, what, now);
}

/// Once more where that tells the ends of the colour bar, along which cells are counted.
void Viewer::finish_sides(bool newest) {
    Update how = newest ? Update::finished : Update::finished_as_drawn;
    do {
        each_side([&](Side& side) { side.frame = update(side, how, now_); });
        how = Update::finished_as_drawn;
    } while (follow_values());
}

/// The scale and the ends of the colour bar that nobody has moved follow what is shown. True when they changed.
bool Viewer::follow_values() {
    if (at_.bar) return false;  // an end is being dragged
    ValueRange ends = usual_range(state_.modifiers);
    if (ends.max == 0)  // the longest value's; 0 until it is known
        each_side([&](const Side& side) {
            if (side.frame != nullptr) ends.max = std::max(ends.max, side.frame->largest_value.value_or(0));
        });
    const ValueRange before = state_.range;
    const WeightScale scale_before = state_.scale;
    if (state_.range.min == usual_ends_.min) state_.range.min = ends.min;
    if (state_.range.max == stand_in_.value_or(usual_ends_.max)) {  // nobody has chosen another
        stand_in_ = ends.max > 0 ? std::nullopt : std::optional(state_.range.max > 0 ? state_.range.max : 1);
        state_.range.max = stand_in_.value_or(ends.max);
    } else {
        stand_in_.reset();
    }
    if (!(state_.range.min < state_.range.max) && ends.max > 0) state_.range = ends;
    if (state_.scale == usual_scale_) state_.scale = usual_scale(state_.modifiers);
    usual_ends_ = ends, usual_scale_ = usual_scale(state_.modifiers);
    return before != state_.range || scale_before != state_.scale;
}

void Viewer::begin_ui(float width, float height) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {width, height};
    io.DeltaTime = options_.frozen ? 1.0f / 60 : static_cast<float>(std::clamp(now_ - last_picture_, 1e-4, 1.0));
    pass_events();
    ImGui::NewFrame();
    at_.typing = io.WantTextInput;
    if (!at_.note_until) at_.note_until = now_ + note_seconds;
    if (now_ >= *at_.note_until) at_.note.clear();
}

void Viewer::draw_panels() {
    drawings_.clear();
    Side& front = in_front().frame != nullptr ? in_front() : a_;
    collect_numbers(front);
    std::optional<Beside> beside;
    if (b_)
        beside.emplace(Beside{.comparison = *comparison_,
                              .shown = shown(),
                              .frames = {a_.frame, b_->frame},
                              .names = {side_name(a_.live, state_, false), side_name(b_->live, state_, true)},
                              .panes = panes_});
    Ui ui{.state = state_,
          .at = at_,
          .live = front.live,
          .data = *front.frame,
          .tokens = front.tokens,
          .text = front.running_text,
          .source_text = front.running_source,
          .heads = numbers_,
          .labels = labels(),
          .source_labels = source_labels(),
          .row_slots = row_slots(front),
          .key_slots = key_slots(front),
          .beside = beside ? &*beside : nullptr,
          .head = head(),
          .figures = figures_,
          .keys = options_.keys,
          .fonts = fonts_,
          .palette = palette_of(state_.theme),
          .drawings = drawings_,
          .colours = colours_,
          .picture = picture_,
          .layout = layout_,
          .map = panes_.front().map,
          .usual_ends = usual_ends_,
          .all_rows = all_rows(),
          .own_column = own_column(),
          .scale = options_.scale,
          .now = now_};
    if (std::exchange(at_.leave_field, false)) ImGui::SetWindowFocus(nullptr);
    if (layout_.too_small) return draw_too_small(ui);
    draw_status_bar(ui);
    draw_head_map(ui);
    draw_focus(ui, panes_);
    draw_numbers(ui);
    draw_inspector(ui);
    if (front.tokens.seen)
        draw_image(ui);
    else
        draw_tokens(ui);
    draw_timeline(ui);
    draw_prompt(ui, *this);
    if (at_.help) draw_help(ui);
    if (at_.find) draw_find(ui, *this);
    draw_area_frame(ui, places());
    draw_open_menu(ui, *this);
}

/// Readings come a picture or two after they were asked for: until then there is more to draw, but not for ever.
bool Viewer::reading_due(Side& side, double now) const {
    constexpr double patience = 2;  // seconds
    if (side.frame == nullptr) return false;
    const auto& reading = side.frame->reading;
    const Wanted what = wanted(side);
    const bool there = !what.under_mouse || (reading && reading->head == head() && reading->run == side.version.run &&
                                             Cell{reading->query, reading->key} == *what.under_mouse);
    const bool row_there = !what.reader || (side.frame->read && side.frame->read->first_row == *what.reader);
    const bool all = there && row_there;
    if (all || what.under_mouse != side.asked_cell) side.asked_at = now;
    side.asked_cell = what.under_mouse;
    return !all && now - side.asked_at < patience;
}

/// What the search takes of the model's thread is taken from the budget. An answer that comes from here on is for the next picture.
void Viewer::seek_focus(double now) {
    finder_->look(a_.live, a_.live.version());
    a_.data.budget().spend(now, 0, finder_->take_seconds());
    if (const auto error = finder_->take_error()) say(*error);
}

void Viewer::draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now) {
    const ContextInUse in_use(context_);
    now_ = now;
    if (pictures_due_ > 0) each_side([&](Side& side) { side.data.budget().allow(now); });
    if (at_.blink_from) at_.blink_from = std::min(*at_.blink_from, now);
    const auto width = static_cast<float>(target.width), height = static_cast<float>(target.height);
    read_models();
    if (a_.version.activity == Activity::ended &&
        (!b_ || comparison_->settled(a_.version, b_->version)))  // before that it may come
        if (const std::string wrong = nothing_there(); !wrong.empty()) state_.part.reset(), say(wrong);
    seek_focus(now);
    arrange(width, height);
    set_colours();
    reading_due_ = false;
    each_side([&](Side& side) {
        side.frame = update(side, Update::once, now);
        reading_due_ = reading_due(side, now) || reading_due_;
    });
    if (follow_values()) touch();
    update_distances(now);
    begin_ui(width, height);
    draw_panels();
    ImGui::Render();
    paint(frame, pipelines, target, fonts_, *ImGui::GetDrawData(), unpacked(palette_of(state_.theme).background));
    pictures_due_ = std::max(0, pictures_due_ - 1);
    last_picture_ = now;
}

/// Until B has read all that A has, or its own text has ended.
void Viewer::wait_for_second_run() {
    using namespace std::chrono_literals;
    while (true) {
        throw_if_interrupted();
        read_models();
        if (const auto error = b_->live.error()) throw Error(error->kind, "the second run: " + error->message);
        if (comparison_->settled(a_.version, b_->version)) return;
        std::this_thread::sleep_for(2ms);
    }
}

std::string Viewer::nothing_there() const {
    if (!state_.part || all_rows() == 0) return "";
    const Rectangle& part = *state_.part;
    const std::int64_t all_keys = head().of == AttentionOf::self ? all_rows() : keys(),
                       columns = all_keys + (own_column() > 0 ? all_rows() - 1 : 0);
    const auto meets = [](double first, double last, std::int64_t count) {
        return last > 0 && first < static_cast<double>(count);
    };
    if (meets(part.first_row, part.last_row, all_rows()) && meets(part.first_column, part.last_column, columns))
        return "";
    return format("--part %s shows nothing: the map has rows 0:%lld and columns 0:%lld", text_of(part).c_str(),
                  static_cast<long long>(all_rows()), static_cast<long long>(columns));
}

void Viewer::finish(std::uint32_t width, std::uint32_t height) {
    const ContextInUse in_use(context_);
    a_.version = a_.live.version();
    if (b_) wait_for_second_run();
    finder_->wait(a_.live, a_.version);
    if (const auto error = finder_->take_error()) log(LogLevel::warning, "%s", error->c_str());
    read_models();
    arrange(static_cast<float>(width), static_cast<float>(height));
    if (const std::string wrong = nothing_there(); !wrong.empty()) throw Error(ErrorKind::usage, "view: " + wrong);
    finish_sides(true);
    if (b_) distances_->finish(*comparison_, shown_slots());
}

}  // namespace vantage::view
