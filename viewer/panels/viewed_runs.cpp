#include "viewer/panels/viewed_runs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/session/weight_types.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/shown_value.h"

namespace vantage::view {
namespace {

constexpr double blink_seconds = 0.5;  // that each run is shown

std::int64_t turns_of(double from, double now) {
    return static_cast<std::int64_t>(std::floor(std::max(now - from, 0.0) / blink_seconds));
}

ViewDataOptions data_options(const LiveModel& live, const LiveModel* compared, std::optional<double> budget_percent) {
    ViewDataOptions options{.budget_percent = budget_percent};
    if (compared == nullptr) return options;
    options.max_slots = live.context() + compared->context();
    if (options.budget_percent) *options.budget_percent /= 2;  // each run has its own budget
    return options;
}

/// Labels of the rows of two texts: one token if both texts have the same, else the token of A and that of B.
std::vector<std::string> slot_labels(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                     const Alignment& slots) {
    std::vector<std::string> labels;  // none where slots are tokens
    for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
        const auto of = [&](const Slots& run, const std::vector<std::string>& all) {
            const auto token = run.token(slot);
            return token ? label_of(all, *token) : "–";
        };
        const std::string left = of(slots.a, a), right = of(slots.b, b);
        labels.push_back(left == right ? left : left + " | " + right);
    }
    return labels;
}

}  // namespace

ViewedRuns::ViewedRuns(LiveModel& live, LiveModel* compared, const ViewState& state, const Interaction& at,
                       std::optional<double> budget_percent)
    : state_(state),
      at_(at),
      a_(live, data_options(live, compared, budget_percent)),
      finder_(std::make_shared<FocusFinder>()) {
    if (compared == nullptr) return;
    b_ = std::make_unique<RunView>(*compared, data_options(live, compared, budget_percent));
    comparison_.emplace(live, *compared);
    comparison_->start(state);
    distances_.emplace(live, *compared);
}

ViewedRuns::~ViewedRuns() = default;

void ViewedRuns::start_second(const ViewState& state) {
    if (b_) comparison_->start(state);
}

ShownRuns ViewedRuns::shown() const {
    if (!b_) return ShownRuns::a;
    if (!at_.blink_from) return state_.shown;
    // It begins with the run that was not seen before.
    const bool first_is_b = state_.shown != ShownRuns::b, even = turns_of(*at_.blink_from, now_) % 2 == 0;
    return first_is_b == even ? ShownRuns::b : ShownRuns::a;
}

double ViewedRuns::blink_left(double now) const {
    return *at_.blink_from + static_cast<double>(turns_of(*at_.blink_from, now) + 1) * blink_seconds - now;
}

// ---- the head in focus

HeadId ViewedRuns::head() const {
    if (state_.head) return *state_.head;
    if (const auto found = finder_->found()) return {found->layer, found->head};
    const auto own = std::ranges::find(a_.live.heads(), AttentionKind::self, &HeadId::kind);
    return own != a_.live.heads().end() ? *own : a_.live.heads().front();
}

std::int64_t ViewedRuns::all_rows() const {
    return b_ ? comparison_->rows_of(head().kind) : a_.version.rows_of(head().kind);
}

std::int64_t ViewedRuns::rows() const { return state_.rows ? std::min(*state_.rows, all_rows()) : all_rows(); }

std::int64_t ViewedRuns::keys() const {
    if (head().kind == AttentionKind::self) return rows();
    return b_ ? comparison_->keys_of(head().kind) : a_.version.keys_of(head().kind);
}

std::int64_t ViewedRuns::own_column() const {
    const bool causal = a_.live.source(head().layer, head().kind).attrs.flag("causal");
    return state_.axis == KeyAxis::absolute || causal ? 0 : std::max<std::int64_t>(keys() - 1, 0);
}

std::int64_t ViewedRuns::columns() const { return own_column() > 0 ? rows() + own_column() : keys(); }

Rectangle ViewedRuns::part() const { return state_.part ? *state_.part : whole_map(rows(), columns()); }

std::string ViewedRuns::place_error() const {
    const std::int64_t rows = all_rows(), all_keys = head().kind == AttentionKind::self ? rows : keys();
    if (rows == 0) return "";
    if (state_.rows && *state_.rows > rows) return format("--rows {}: the map has {} rows", *state_.rows, rows);
    for (const Pin& pin : state_.pins) {
        const bool query = pin.kind == Pin::Kind::query;
        if (const std::int64_t count = query ? rows : all_keys; pin.token >= count)
            return format("--pin {}{}: the map has {} 0 to {}", query ? "q" : "k", pin.token,
                          query ? "queries" : "keys", count - 1);
    }
    if (!state_.part) return "";
    const Rectangle& part = *state_.part;
    const std::int64_t columns = all_keys + (own_column() > 0 ? rows - 1 : 0);
    const auto meets = [](double first, double last, std::int64_t count) {
        return last > 0 && first < static_cast<double>(count);
    };
    if (meets(part.first_row, part.last_row, rows) && meets(part.first_column, part.last_column, columns)) return "";
    return format("--part {} shows nothing: the map has rows 0:{} and columns 0:{}", text_of(part), rows, columns);
}

std::string ViewedRuns::error() const {
    if (const auto error = a_.live.error()) return error->message;
    const auto error = b_ ? b_->live.error() : std::nullopt;
    return error ? "B: " + error->message : "";
}

// ---- slots

const SideSlots& ViewedRuns::slots(const RunView& run) const {
    static const SideSlots plain;
    return b_ ? comparison_->slots(&run != &a_) : plain;
}

const std::vector<std::string>& ViewedRuns::labels() const {
    return b_ && !comparison_->own().a.plain() ? slot_labels_ : a_.labels.all();
}

const std::vector<std::string>& ViewedRuns::source_labels() const {
    return b_ && !comparison_->source().a.plain() ? source_slot_labels_ : a_.source_labels.all();
}

std::optional<std::int64_t> ViewedRuns::key_of(const Cell& cell, const RunView& run) const {
    if (state_.axis == KeyAxis::absolute) return cell.second;
    const auto query = row_slots(run).token(cell.first);
    const Slots& slots = key_slots(run);
    if (!query) return std::nullopt;
    const std::int64_t key = *query + own_column() - cell.second;
    return key >= 0 && key < slots.tokens_before(keys()) ? std::optional(slots.slot_of(key)) : std::nullopt;
}

const char* ViewedRuns::why_no_weight(const RunView& run) const {
    const auto cell = at_.cell();
    if (!cell || cell->first >= rows()) return nullptr;
    if (!row_slots(run).token(cell->first)) return "no such query in this text";
    const auto key = key_of(*cell, run);
    if (!key) return "no key here";
    if (!key_slots(run).token(*key)) return "no such key in this text";
    return run.frame != nullptr && run.frame->causal && *key > cell->first ? "masked: a later key" : nullptr;
}

RunView& ViewedRuns::of_cell() {
    const bool only_b = shown() == ShownRuns::both && b_->frame != nullptr && why_no_weight(a_) != nullptr &&
                        why_no_weight(*b_) == nullptr;
    return only_b ? *b_ : front();
}

std::span<const OffRow> ViewedRuns::off_rows() const {
    const FrameData* frame = front().frame;
    return frame != nullptr ? frame->off_rows : std::span<const OffRow>();
}

// ---- the steps of a picture

void ViewedRuns::read(Fonts& fonts) {
    each([&](RunView& run) { run.read(fonts); });
    if (!b_) return;
    comparison_->update(a_.now(), b_->now());
    a_.data.set_slots(comparison_->slots(false));
    b_->data.set_slots(comparison_->slots(true));
}

void ViewedRuns::update_labels(const Fonts& fonts) {
    each([&](RunView& run) { run.update_labels(fonts); });
    if (!b_) return;
    const std::array<std::uint64_t, 7> now{
        comparison_->slots(false).number, a_.tokens.run,           b_->tokens.run,
        a_.tokens.texts.size(),           b_->tokens.texts.size(), a_.tokens.source_texts.size(),
        b_->tokens.source_texts.size()};
    if (std::exchange(slot_labels_of_, now) == now) return;
    slot_labels_ = slot_labels(a_.labels.all(), b_->labels.all(), comparison_->own());
    source_slot_labels_ = slot_labels(a_.source_labels.all(), b_->source_labels.all(), comparison_->source());
}

void ViewedRuns::wait_for_second(Fonts& fonts) {
    using namespace std::chrono_literals;
    while (true) {
        throw_if_interrupted();
        read(fonts);
        if (const auto error = b_->live.error()) throw Error(error->kind, "the second run: " + error->message);
        if (comparison_->settled(a_.version, b_->version)) return;
        std::this_thread::sleep_for(2ms);
    }
}

bool ViewedRuns::versions_wait() const {
    const auto waits = [](const RunView& run) { return run.live.version().number != run.version.number; };
    return waits(a_) || (b_ && waits(*b_));
}

std::optional<std::string> ViewedRuns::search_head(double now) {
    finder_->look(a_.live, a_.live.version());
    a_.data.budget().spend(now, 0, finder_->take_seconds());
    return finder_->take_error();
}

/// The cell of what a query reads most, as soon as that is known.
Cell ViewedRuns::argmax_cell(std::int64_t query) const {
    const RunView& run = front();
    const auto token = row_slots(run).token(query);
    if (run.frame == nullptr || !token || (run.frame->reading && run.frame->reading->head != head())) return {query, 0};
    const std::vector<CellReading::Top> top = shown_top(*run.frame, state_.modifiers, *token, 1);
    return {query, top.empty() ? 0 : key_slots(run).slot_of(top.front().key)};
}

/// The query and the key that are asked about.
std::optional<Cell> ViewedRuns::asked_cell(const RunView& run) const {
    if (rows() == 0) return std::nullopt;
    const auto cell = at_.cell();
    if (!cell) return argmax_cell(at_.query(state_, rows()));
    const auto key = key_of(*cell, run);
    return key && cell->first < rows() ? std::optional(Cell{cell->first, *key}) : std::nullopt;
}

Wanted ViewedRuns::wanted(const RunView& run, const MapView& map, float cell_pixels) const {
    Wanted w{.head = head(),
             .part = part(),
             .pixels_high = static_cast<double>(map.box.high),
             .pixels_wide = static_cast<double>(map.box.wide),
             .mini_maps = state_.mini_maps,
             .counted = at_.bar};
    if (map.pixels_per_row() >= static_cast<double>(cell_pixels) &&
        map.pixels_per_column() >= static_cast<double>(cell_pixels))
        w.numbers = Rectangle{std::floor(w.part.first_row), std::ceil(w.part.last_row), std::floor(w.part.first_column),
                              std::ceil(w.part.last_column)};
    else if (const auto cell = at_.cell(); cell && run.frame != nullptr)
        w.numbers = pooled_part(*run.frame, cell->first, cell->second);
    if (const auto cell = asked_cell(run)) {
        const auto query = row_slots(run).token(cell->first), key = key_slots(run).token(cell->second);
        if (query && key) w.under_mouse = {*query, *key};
    }
    if (rows() > 0) w.reader = row_slots(run).token(at_.query(state_, rows()));
    return w;
}

ViewState ViewedRuns::seen() const {
    ViewState seen = state_;
    if (b_) seen.rows = rows();  // that both have
    return seen;
}

double ViewedRuns::largest_value() const {
    const auto of = [](const RunView* run) {
        return run != nullptr && run->frame != nullptr ? static_cast<double>(run->frame->largest_value.value_or(0)) : 0;
    };
    return std::max(of(&a_), of(b_.get()));
}

void ViewedRuns::count_differences() {
    if (b_) b_->data.subtract(shown() == ShownRuns::difference ? &a_.data : nullptr, std::max(1.0, state_.range.max));
}

std::optional<double> ViewedRuns::usual_difference() const {
    constexpr double share = 0.99;
    const FrameData* frame = b_ ? b_->frame : nullptr;
    if (frame == nullptr || !frame->counts || !frame->counts->differences) return std::nullopt;
    return frame->counts->quantile(share);
}

ShownRows ViewedRuns::shown_slots() const {
    ShownRows shown{comparison_->rows_of(AttentionKind::self), comparison_->rows_of(AttentionKind::encoder)};
    (head().kind == AttentionKind::encoder ? shown.source : shown.own) = rows();
    return shown;
}

/// The distances take their time from the budget of A.
void ViewedRuns::update_distances(double now) {
    if (!b_) return;
    constexpr double seconds = 0.002;  // of the device's time in a picture
    Budget& budget = a_.data.budget();
    const bool more = distances_->update(*comparison_, shown_slots(), budget.open(now) ? seconds : 0);
    budget.spend(now, distances_->take_device_seconds(), 0);
    distances_due_ = more ? std::optional(now + budget.opens_in(now)) : std::nullopt;
}

void ViewedRuns::finish_distances() {
    if (b_) distances_->finish(*comparison_, shown_slots());
}

void ViewedRuns::collect_numbers(const RunView& front) {
    numbers_.assign(front.frame->heads.begin(), front.frame->heads.end());
    for (std::size_t i = 0; b_ && i < numbers_.size(); ++i)
        at(numbers_[i].mean, HeadStatistic::difference) = distances_->of(front.live.heads()[i]);
}

std::string speed_text(double tokens_per_second) {
    return tokens_per_second < 10 ? format("{:.2g} tok/s", tokens_per_second)
                                  : format("{:.0f} tok/s", tokens_per_second);
}

/// In what this run is another than the other one: "A · f16".
std::string run_name(const LiveModel& live, const ViewState& state, bool is_b) {
    std::string name = is_b ? "B" : "A";
    const auto add = [&](const std::string& text) { name += " · " + text; };
    const Compared& compared = *state.compared;
    const ModelInfo& info = live.model().info();
    if (compared.model) add(info.name);
    if (compared.weights) add((is_b ? weight_type_name(*compared.weights) : info.weight_types) + " weights");
    if (compared.precision) add(std::string(name_of(live.precision())) + " cache");
    if (compared.variant) add(name_of(live.variant()) + " attention");
    if (compared.prompt) add("“" + (is_b ? *compared.prompt : state.prompt) + "”");
    return name;
}

}  // namespace vantage::view
