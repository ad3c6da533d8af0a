#include "runtime/session/model_access.h"
#include "viewer/panels/viewer.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/gpu/queue.h"
#include "runtime/models/config.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr double note_seconds = 4;

using ColourWords = std::array<std::uint32_t, 256>;

ViewDataOptions data_options(const LiveModel& live, const ViewerOptions& options) {
    ViewDataOptions data{.budget_percent = options.budget_percent};
    if (options.compared == nullptr) return data;
    data.max_slots = live.context() + options.compared->context();
    if (data.budget_percent) *data.budget_percent /= 2;  // each run has its own
    return data;
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
      default_ends_(default_range(state.modifiers)),
      default_scale_(default_scale(state.modifiers)),
      context_(make_context()),
      fonts_(live.model().device(), options_.scale),
      finder_(std::make_shared<FocusFinder>()) {
    const ContextInUse in_use(context_);
    if (options.compared != nullptr) {
        b_ = std::make_unique<RunView>(*options.compared, data_options(live, options));
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
    given_prompt_ = config_of(live.model()).is_vision() ? state_.image : state_.prompt;
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

HeadId Viewer::head() const {
    if (state_.head) return *state_.head;
    if (const auto found = finder_->found()) return *found;
    const auto own = std::ranges::find(a_.live.heads(), AttentionKind::self, &HeadId::kind);
    return own != a_.live.heads().end() ? *own : a_.live.heads().front();
}

std::int64_t Viewer::all_rows() const {
    return b_ ? comparison_->rows_of(head().kind) : a_.version.rows_of(head().kind);
}

std::int64_t Viewer::rows() const { return state_.rows ? std::min(*state_.rows, all_rows()) : all_rows(); }

std::int64_t Viewer::keys() const {
    if (head().kind == AttentionKind::self) return rows();
    return b_ ? comparison_->keys_of(head().kind) : a_.version.keys_of(head().kind);
}

std::int64_t Viewer::own_column() const {
    const bool causal = a_.live.source(head().layer, head().kind).attrs.flag("causal");
    return state_.axis == KeyAxis::absolute || causal ? 0 : std::max<std::int64_t>(keys() - 1, 0);
}

std::int64_t Viewer::columns() const { return own_column() > 0 ? rows() + own_column() : keys(); }

Rectangle Viewer::part() const { return state_.part ? *state_.part : whole_map(rows(), columns()); }

void Viewer::say(const std::string& note) {
    at_.note = note;
    at_.note_until.reset();
}

void Viewer::set_scale(float scale) {
    options_ = with_scale(options_, scale);
    fonts_.resize(options_.scale);
    touch();
}

Request Viewer::take_request() { return std::exchange(request_, Request::none); }

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
    RunView& front = in_front().frame != nullptr ? in_front() : a_;
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
          .default_ends = default_ends_,
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

/// What the search takes of the model's thread is taken from the budget. An answer that comes from here on is for the next picture.
void Viewer::seek_focus(double now) {
    finder_->look(a_.live, a_.live.version());
    a_.data.budget().spend(now, 0, finder_->take_seconds());
    if (const auto error = finder_->take_error()) say(*error);
}

void Viewer::draw(Frame& frame, DrawPipelines& pipelines, const Target& target, double now) {
    const ContextInUse in_use(context_);
    now_ = now;
    if (pictures_due_ > 0) each_side([&](RunView& side) { side.data.budget().allow(now); });
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
    each_side([&](RunView& side) {
        side.frame = side.has(head()) ? &side.data.update(seen(), wanted(side), now) : nullptr;
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

std::string Viewer::nothing_there() const {
    if (!state_.part || all_rows() == 0) return "";
    const Rectangle& part = *state_.part;
    const std::int64_t all_keys = head().kind == AttentionKind::self ? all_rows() : keys(),
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
