#include "viewer/panels/viewer.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/gpu/commands.h"
#include "runtime/io/shown_text.h"
#include "runtime/models/config.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr double note_seconds = 4;
constexpr double reading_wait = 0.01;         // from picture to picture while a reading is on its way
constexpr double cpu_pictures_a_second = 10;  // of a model at work, on devices that draw with the model's own cores
constexpr std::int64_t longest_label = 24;    // columns

std::vector<std::string> shown_labels(std::span<const std::string> texts) {
    std::vector<std::string> labels = token_labels(texts);
    for (std::string& label : labels) label = shortened(label, longest_label);
    return labels;
}

float longest_width(const Face& face, const std::vector<std::string>& labels, std::int64_t count) {
    // Of a long text a part tells enough, and asking for all of it would cost more than the picture.
    constexpr std::size_t most_asked = 512;
    float longest = 0;
    for (std::size_t i = 0; i < std::min({labels.size(), most_asked, static_cast<std::size_t>(count)}); ++i)
        longest = std::max(longest, width_of(face, labels[i]));
    return longest;
}

}  // namespace

Viewer::Viewer(LiveModel& live, const ViewState& state, const ViewerOptions& options)
    : live_(live),
      state_(state),
      options_(options),
      context_(make_context()),
      fonts_(live.model().device(), options.scale),
      data_(live, {.budget_percent = options.budget_percent}),
      finder_(std::make_shared<FocusFinder>()) {
    const ContextInUse in_use(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = io.LogFilename = nullptr;
    name_keys(io);
    at_.prompt = live_.model().config().sees() ? state_.image : state_.prompt;
    const Caps& caps = live_.model().device().caps();
    figures_ = {
        .model = live_.model().info().name, .device = caps.name, .software = caps.is_cpu(), .frozen = options.frozen};
    colours_ = gpu::allocate(live_.model().device().state(), 1024, gpu::MemoryKind::device, "colour map");
}

Viewer::~Viewer() {
    gpu::wait_idle(live_.model().device().state());
    ImGui::DestroyContext(context_);
}

HeadPlace Viewer::head() const {
    if (state_.head) return *state_.head;
    if (const auto found = finder_->found()) return *found;
    const auto own = std::ranges::find(live_.heads(), AttentionOf::self, &HeadPlace::of);
    return own != live_.heads().end() ? *own : live_.heads().front();
}

std::int64_t Viewer::rows() const {
    const std::int64_t all = version_.rows_of(head().of);
    return state_.rows ? std::min(*state_.rows, all) : all;
}

std::int64_t Viewer::columns() const { return head().of == AttentionOf::self ? rows() : version_.keys_of(head().of); }

Rectangle Viewer::part() const { return state_.part ? *state_.part : whole_map(rows(), columns()); }

void Viewer::run_prompt() {
    if (!obeyed()) return;
    ViewState wanted = state_;
    (live_.model().config().sees() ? wanted.image : wanted.prompt) = at_.prompt;
    wanted.rows.reset();
    wanted.part.reset();
    wanted.pins.clear();
    try {
        live_.start(options_.prompt ? options_.prompt(wanted) : LivePrompt{.text = wanted.prompt}, wanted.sampling,
                    wanted.max_tokens);
    } catch (const Error& error) {
        return say(error.what());  // of a file that is no picture; what was there stays
    }
    state_ = wanted;
    at_.picked.reset();
    touch();
}

void Viewer::run_or_stop() {
    if (!obeyed()) return;
    const Activity activity = version_.activity;
    if (activity == Activity::reading || activity == Activity::writing)
        live_.stop();
    else
        run_prompt();
}

bool Viewer::obeyed() {
    if (!live_.commanded()) say("the program that opened this view runs the model");
    return live_.commanded();
}

void Viewer::say(const std::string& note) {
    at_.note = note;
    at_.note_until = now_ + note_seconds;
}

void Viewer::copy_command_line() {
    const std::string line = "vantage view" + (as_command_line(state_).empty() ? "" : " " + as_command_line(state_));
    if (options_.copy) options_.copy(line);
    say("copied: " + line);
}

ViewSubject Viewer::subject() {
    frame_data_ = &data_.finish(state_, wanted());
    return subject_of(live_, data_, *frame_data_, state_, head());
}

void Viewer::set_scale(float scale) {
    options_.scale = std::clamp(scale, 0.5f, 4.0f);
    fonts_.resize(options_.scale);
    touch();
}

Request Viewer::take_request() { return std::exchange(request_, Request::none); }

void Viewer::note_frame(double now, double device_seconds, double host_seconds) {
    data_.note_frame(now, device_seconds, host_seconds);
    figures_.gfx_seconds = device_seconds;
    closed_until_ = now + data_.budget().opens_in(now);
}

double Viewer::next_of_model() const {
    return std::max(closed_until_, last_picture_ + (figures_.software ? 1 / cpu_pictures_a_second : 0));
}

bool Viewer::due(double now) const {
    if (pictures_due_ > 0) return true;
    if (reading_due_ && now >= std::max(closed_until_, last_picture_ + reading_wait)) return true;
    if (live_.version().number != version_.number) return now >= next_of_model();
    return frame_data_ != nullptr && frame_data_->busy && now - last_picture_ >= frame_data_->wake_in;
}

double Viewer::wake_in(double now) const {
    constexpr double longest = 1;
    if (pictures_due_ > 0) return 0;
    double seconds = reading_due_ ? std::max(closed_until_, last_picture_ + reading_wait) - now : longest;
    if (live_.version().number != version_.number) seconds = std::min(seconds, next_of_model() - now);
    if (frame_data_ != nullptr && frame_data_->busy)
        seconds = std::min(seconds, last_picture_ + frame_data_->wake_in - now);
    return std::clamp(seconds, 0.0, longest);
}

void Viewer::read_model() {
    version_ = live_.version();
    const std::size_t before = tokens_.texts.size() + tokens_.source_texts.size();
    const std::uint64_t run = tokens_.run;
    const std::shared_ptr<const Image> seen = tokens_.seen;
    live_.read_tokens(tokens_);
    if (tokens_.seen != seen) set_picture();
    if (tokens_.run == run && tokens_.texts.size() + tokens_.source_texts.size() == before) return;
    for (const std::string& text : tokens_.texts) fonts_.need(text);
    for (const std::string& text : tokens_.source_texts) fonts_.need(text);
}

void Viewer::set_colours() {
    if (colours_of_ == state_.colours) return;
    std::array<std::uint32_t, 256> words{};
    const ColourTable& table = vantage::colours_of(state_.colours);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = packed(table[i]);
    gpu::upload(live_.model().device().state(), colours_, 0, std::as_bytes(std::span(words)));
    colours_of_ = state_.colours;
}

void Viewer::set_picture() {
    if (tokens_.seen == nullptr) return;
    const Image& seen = *tokens_.seen;
    std::vector<std::uint32_t> words;
    for (int y = 0; y < seen.height; ++y)
        for (int x = 0; x < seen.width; ++x) words.push_back(packed(seen.at(x, y)));
    gpu::DeviceState& device = live_.model().device().state();
    picture_ = gpu::allocate(device, words.size() * sizeof words[0], gpu::MemoryKind::device, "picture");
    gpu::upload(device, picture_, 0, std::as_bytes(std::span(words)));
}

/// Letters, panels and the map's place, for a target of this size.
void Viewer::arrange(float width, float height) {
    read_model();
    fonts_.update();
    apply(palette_of(state_.theme), options_.scale);
    labels_ = shown_labels(tokens_.texts);
    source_labels_ = shown_labels(tokens_.source_texts);
    for (std::string& label : labels_) label = fonts_.legible(label);
    for (std::string& label : source_labels_) label = fonts_.legible(label);
    layout_ = lay_out(width, height, options_.scale, head_grid(live_), live_.model().config().sees());
    const Face face{fonts_.small, fonts_.small_size};
    const float row_label = longest_width(face, head().of == AttentionOf::encoder ? source_labels_ : labels_, rows());
    const float key_label =
        state_.axis == KeyAxis::relative
            ? width_of(face, "00000")
            : longest_width(face, head().of == AttentionOf::self ? labels_ : source_labels_, columns());
    places_ = focus_places(layout_.focus, part(), row_label, key_label, options_.scale);
    map_ = {part(), places_.map, rows(), columns()};
}

/// The cell of what a query reads most, as soon as that is known.
Cell Viewer::read_most(std::int64_t query) const {
    if (frame_data_ != nullptr && frame_data_->reading) {
        const CellReading& reading = *frame_data_->reading;
        if (reading.head == head() && reading.query == query && !reading.top.empty())
            return {query, reading.top.front().key};
    }
    return {query, 0};
}

Wanted Viewer::wanted() const {
    Wanted w{.head = head(),
             .part = part(),
             .pixels_high = static_cast<double>(map_.box.high),
             .pixels_wide = static_cast<double>(map_.box.wide),
             .mini_maps = state_.mini_maps,
             .counted = at_.bar};
    if (map_.pixels_per_row() >= static_cast<double>(numbered_cell * options_.scale) &&
        map_.pixels_per_column() >= static_cast<double>(numbered_cell * options_.scale))
        w.numbers = Rectangle{std::floor(w.part.first_row), std::ceil(w.part.last_row), std::floor(w.part.first_column),
                              std::ceil(w.part.last_column)};
    if (const auto cell = at_.cell()) {
        const std::int64_t key = state_.axis == KeyAxis::relative ? cell->first - cell->second : cell->second;
        if (key >= 0 && cell->first < rows()) w.under_mouse = {cell->first, key};
    } else if (rows() > 0) {
        w.under_mouse = read_most(at_.query(state_, rows()));
    }
    if (rows() > 0) w.reader = at_.query(state_, rows());
    return w;
}

void Viewer::begin_ui(float width, float height, double now) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {width, height};
    io.DeltaTime = options_.frozen ? 1.0f / 60 : static_cast<float>(std::clamp(now - now_, 1e-4, 1.0));
    now_ = now;
    pass_events();
    ImGui::NewFrame();
    at_.typing = io.WantTextInput;
    if (now_ > at_.note_until) at_.note.clear();
}

void Viewer::draw_panels() {
    drawings_.clear();
    Ui ui{.state = state_,
          .at = at_,
          .live = live_,
          .data = *frame_data_,
          .tokens = tokens_,
          .labels = labels_,
          .source_labels = source_labels_,
          .head = head(),
          .figures = figures_,
          .keys = options_.keys,
          .fonts = fonts_,
          .palette = palette_of(state_.theme),
          .drawings = drawings_,
          .colours = colours_,
          .picture = picture_,
          .layout = layout_,
          .map = map_,
          .scale = options_.scale,
          .now = now_};
    if (std::exchange(at_.leave_field, false)) ImGui::SetWindowFocus(nullptr);
    draw_status_bar(ui);
    draw_head_map(ui);
    draw_focus(ui, places_);
    draw_numbers(ui);
    draw_inspector(ui);
    if (tokens_.seen)
        draw_image(ui);
    else
        draw_tokens(ui);
    draw_timeline(ui);
    draw_prompt(ui, *this);
    if (at_.help) draw_help(ui);
    if (at_.find) draw_find(ui);
    draw_area_frame(ui, places_);
    draw_open_menu(ui, *this);
}

/// Readings come a picture or two after they were asked for: until then there is more to draw, but not for ever.
void Viewer::wait_for_reading(const Wanted& what, double now) {
    constexpr double patience = 2;  // seconds
    const auto& reading = frame_data_->reading;
    const bool there = !what.under_mouse || (reading && reading->head == what.head && reading->run == version_.run &&
                                             Cell{reading->query, reading->key} == *what.under_mouse);
    const bool row_there = !what.reader || (frame_data_->read && frame_data_->read->first_row == *what.reader);
    const bool all = there && row_there;
    if (all || what.under_mouse != asked_cell_) asked_at_ = now;
    asked_cell_ = what.under_mouse;
    reading_due_ = !all && now - asked_at_ < patience;
}

void Viewer::draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now) {
    const ContextInUse in_use(context_);
    const auto width = static_cast<float>(target.width), height = static_cast<float>(target.height);
    arrange(width, height);
    set_colours();
    const Wanted what = wanted();
    frame_data_ = &data_.update(state_, what, now);
    wait_for_reading(what, now);
    finder_->look(live_, version_);
    begin_ui(width, height, now);
    draw_panels();
    ImGui::Render();
    paint(frame, pipelines, target, fonts_, *ImGui::GetDrawData(), unpacked(palette_of(state_.theme).background));
    pictures_due_ = std::max(0, pictures_due_ - 1);
    last_picture_ = now;
}

void Viewer::finish(std::uint32_t width, std::uint32_t height) {
    const ContextInUse in_use(context_);
    version_ = live_.version();
    finder_->wait(live_, version_);
    arrange(static_cast<float>(width), static_cast<float>(height));
    frame_data_ = &data_.finish(state_, wanted());
}

}  // namespace vantage::view
