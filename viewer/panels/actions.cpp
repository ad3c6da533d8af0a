#include "viewer/panels/actions.h"

#include <algorithm>
#include <array>

#include "vantage/error.h"
#include "viewer/data/training_snapshots.h"
#include "viewer/panels/areas.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewed_runs.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

constexpr Shortcut character(char32_t c) { return {.character = c}; }
constexpr Shortcut special(Key key) { return {.key = key}; }
constexpr Shortcut control(char32_t c) { return {.character = c, .control = true}; }
constexpr Shortcut alt(Key key) { return {.key = key, .alt = true}; }
constexpr Shortcut shift(Key key) { return {.key = key, .shift = true}; }

template <class Enum>
void next(Enum& value, int count) {
    value = static_cast<Enum>((static_cast<int>(value) + 1) % count);
}

// ---- heads ----------------------------------------------------------------------------------------------------------

/// The place of a layer among those that attend as it does, or of the last one before it.
std::int64_t place_of(const std::vector<std::int64_t>& layers, std::int64_t layer) {
    return std::max<std::int64_t>(std::ranges::upper_bound(layers, layer) - layers.begin() - 1, 0);
}

/// Moves the focus by layers and heads, within the model.
void move_head(Viewer& v, std::int64_t layers, std::int64_t heads) {
    const HeadId now = v.runs().head();
    const ModelInfo& info = v.runs().a().live.model().info();
    const std::vector<std::int64_t>& all = info.layers_of(now.kind);
    const auto place = std::clamp<std::int64_t>(place_of(all, now.layer) + layers, 0, std::ssize(all) - 1);
    go_to_head(v, HeadId{vantage::at(all, place),
                         std::clamp<std::int64_t>(now.head + heads, 0, info.heads_of(now.kind) - 1), now.kind});
}

void next_kind(Viewer& v) {
    const ModelInfo& info = v.runs().a().live.model().info();
    HeadId head = v.runs().head();
    do next(head.kind, 3);
    while (!info.attends(head.kind));
    head.layer = vantage::at(info.layers_of(head.kind), place_of(info.layers_of(head.kind), head.layer));
    head.head = std::min(head.head, info.heads_of(head.kind) - 1);
    go_to_head(v, head);
}

// ---- the map --------------------------------------------------------------------------------------------------------

void zoom(Viewer& v, double factor) {
    const Rectangle part = v.runs().part();
    const auto cell = v.at().cell();
    const double row = cell ? static_cast<double>(cell->first) + 0.5 : (part.first_row + part.last_row) / 2;
    const double column = cell ? static_cast<double>(cell->second) + 0.5 : (part.first_column + part.last_column) / 2;
    v.state().part = zoomed(part, factor, row, column, v.runs().rows(), v.runs().columns());
    if (*v.state().part == whole_map(v.runs().rows(), v.runs().columns())) v.state().part.reset();
}

/// Shows as many tokens as the map has pixels.
void one_to_one(Viewer& v) {
    const Rectangle part = v.runs().part();
    const double factor = static_cast<double>(v.panes().front().map.box.high) / std::max(part.rows(), 1.0);
    v.state().part = zoomed(part, factor, part.first_row + part.rows() / 2, part.first_column + part.columns() / 2,
                            v.runs().rows(), v.runs().columns());
}

void pan(Viewer& v, double rows, double columns) {
    constexpr double step = 0.1;
    const Rectangle part = v.runs().part();
    v.state().part =
        moved(part, rows * part.rows() * step, columns * part.columns() * step, v.runs().rows(), v.runs().columns());
}

void step_back_out(Viewer& v) {
    if (v.at().help || v.at().find) {
        v.at().help = v.at().find = false;
    } else if (v.at().area) {
        v.at().area.reset();
        v.at().picked_token.reset();
    } else if (v.at().picked || !v.state().pins.empty()) {
        v.at().picked.reset();
        v.state().pins.clear();
    } else {
        v.state().rows.reset();
        v.at().step.reset();
    }
}

// ---- time -----------------------------------------------------------------------------------------------------------

/// One token later; at the newest token the model generates one.
void step_on(Viewer& v) {
    if (v.state().rows)
        go_to_row(v, *v.state().rows + 1);
    else
        v.step();
}

/// To an earlier or later snapshot of training.
void move_step(Viewer& v, std::ptrdiff_t by) {
    const std::vector<TrainingSnapshot> all = v.training()->all();
    const auto here =
        v.at().step ? std::ranges::upper_bound(all, *v.at().step, {}, &TrainingSnapshot::step) : all.end();
    show_step(v.at(), all, here - all.begin() - 1 + by);
}

void toggle_difference(Viewer& v) {
    v.show(v.runs().shown() == ShownRuns::difference ? v.at().before_difference.shown : ShownRuns::difference);
}

// ---- why an action cannot be done

const char* not_commanded(const Viewer& v) { return v.why_not_commanded(); }
const char* not_training(const Viewer& v) {
    return v.training() != nullptr ? nullptr : "no model is being trained: see vantage train --watch";
}
const char* not_running(const Viewer& v) {
    if (const char* why = not_commanded(v)) return why;
    return is_busy(v.runs().a().version.activity) ? nullptr : "nothing is running";
}
const char* one_run(const Viewer& v) {
    return v.runs().compares() ? nullptr
                               : "Nothing to compare yet: start with --compare prompt=TEXT, weights=q4, precision=f32, "
                                 "attention-kind=KIND or model=DIR";
}
const char* one_kind(const Viewer& v) {
    const ModelInfo& info = v.runs().a().live.model().info();
    int kinds = 0;
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross})
        kinds += info.attends(kind) ? 1 : 0;
    return kinds > 1 ? nullptr : "this model has one kind of attention";
}
const char* no_rows(const Viewer& v) {
    return v.runs().rows() > 0 ? nullptr : "nothing to save yet: the model has not read a token";
}
const char* no_distances(const Viewer& v) { return v.why_not_relative(); }
const char* symmetric(const Viewer& v) {
    return v.runs().shown() == ShownRuns::difference
               ? "the range of a difference is symmetric: Raise maximum and Lower maximum move both ends"
               : nullptr;
}

Action unless(const char* (*refusal)(const Viewer&), Action action) {
    action.refusal = refusal;
    return action;
}

/// An action that chooses one of a list, without a key.
template <auto Value, auto Member>
Action choice(const char* word, const char* name, Menu menu, bool group = false) {
    return {.word = word,
            .name = name,
            .menu = menu,
            .run = [](Viewer& v) { v.state().*Member = Value; },
            .on = [](const Viewer& v) { return v.state().*Member == Value; },
            .group = group,
            .choice = true};
}

template <HeadStatistic Statistic>
Action colour_heads(const char* word) {
    return choice<Statistic, &ViewState::statistic>(word, name_of(Statistic), Menu::heads);
}
template <AttentionScale Scale>
Action scale(const char* word, const char* name, bool group = false) {
    return choice<Scale, &ViewState::scale>(word, name, Menu::view, group);
}
template <ColourMap Colours>
Action colour_map(const char* word, const char* name, bool group = false) {
    return choice<Colours, &ViewState::colours>(word, name, Menu::view, group);
}

template <ShownRuns Shown>
Action show_runs(const char* word, const char* name, char32_t key) {
    const auto on = [](const Viewer& v) { return v.runs().compares() && v.runs().shown() == Shown; };
    return {.word = word,
            .name = name,
            .menu = Menu::compare,
            .shortcut = character(key),
            .run = [](Viewer& v) { v.show(Shown); },
            .on = on,
            .choice = true,
            .refusal = one_run};
}

/// The next statistic; the difference only with two runs.
void next_statistic(Viewer& v) {
    do next(v.state().statistic, head_statistic_count);
    while (v.state().statistic == HeadStatistic::difference && !v.runs().compares());
}

void toggle_statistic_order(Viewer& v) { next(v.state().order, 2); }

constexpr CellPooling peak = CellPooling::peak;
constexpr KeyAxis relative = KeyAxis::relative;

// In the order of the menus.
const std::array action_table = std::to_array<Action>({
    {"picture", "Save a picture (PNG)", Menu::file, character(U'e'), [](Viewer& v) { v.request(Request::picture); }},
    unless(no_rows, {"export", "Save all formats (SVG, HTML, CSV, JSON, NPY) …", Menu::file, character(U'E'),
                     [](Viewer& v) { v.request(Request::exports); }}),
    {"copy", "Copy as a command line", Menu::file, control(U'c'), [](Viewer& v) { v.copy_command_line(); }},
    {"quit", "Quit", Menu::file, control(U'q'), [](Viewer& v) { v.request(Request::quit); }, nullptr, true, true},

    unless(not_commanded, {"prompt", "Edit the prompt", Menu::model, special(Key::enter),
                           [](Viewer& v) { v.at().focus_prompt = true; }}),
    unless(not_commanded, {"run",
                           "Run the prompt",
                           Menu::model,
                           {.key = Key::enter, .control = true},
                           [](Viewer& v) { v.run_prompt(); }}),
    // not Ctrl+X, which cuts in a text field
    unless(not_running,
           {"stop", "Stop", Menu::model, shift(function_key(5)), [](Viewer& v) { v.stop(); }, nullptr, false, true}),
    unless(not_running, {"pause", "Pause", Menu::model, character(U' '), [](Viewer& v) { v.pause_or_resume(); },
                         [](const Viewer& v) { return v.runs().a().version.activity == Activity::paused; }}),
    {"live", "Follow the model", Menu::model, character(U'l'),
     [](Viewer& v) { v.state().rows.reset(), v.at().step.reset(); },
     [](const Viewer& v) { return !v.state().rows && !v.at().step; }, true},
    {"back", "Previous token", Menu::model, character(U','), [](Viewer& v) { go_to_row(v, v.runs().rows() - 1); }},
    {"step", "Next token", Menu::model, character(U'.'), step_on},
    {"first", "First token", Menu::model, special(Key::home), [](Viewer& v) { go_to_row(v, 1); }},
    {"last", "Newest token", Menu::model, special(Key::end), [](Viewer& v) { v.state().rows.reset(); }},
    unless(not_training, {"earlier-step", "Earlier step of training", Menu::model, character(U'<'),
                          [](Viewer& v) { move_step(v, -1); }}),
    unless(not_training,
           {"later-step", "Later step of training", Menu::model, character(U'>'), [](Viewer& v) { move_step(v, 1); }}),

    {"layer-up", "Previous layer", Menu::heads, special(Key::up), [](Viewer& v) { move_head(v, -1, 0); }},
    {"layer-down", "Next layer", Menu::heads, special(Key::down), [](Viewer& v) { move_head(v, 1, 0); }},
    {"head-left", "Previous head", Menu::heads, special(Key::left), [](Viewer& v) { move_head(v, 0, -1); }},
    {"head-right", "Next head", Menu::heads, special(Key::right), [](Viewer& v) { move_head(v, 0, 1); }},
    {"suggest-head", "Suggest a head", Menu::heads, character(U'h'), go_to_suggested_head,
     [](const Viewer& v) { return !v.state().head; }},
    unless(one_kind, {"kind", "Encoder / decoder self / cross attention", Menu::heads, character(U'a'), next_kind}),
    {"order", "Sort heads by it", Menu::heads, character(U'i'), toggle_statistic_order,
     [](const Viewer& v) { return v.state().order == HeadOrder::value; }, true},
    {"thumbnails", "Head thumbnails", Menu::heads, character(U'g'), [](Viewer& v) { v.toggle_thumbnails(); },
     [](const Viewer& v) { return v.state().mini_maps; }},
    {"large-heads", "Large head map", Menu::heads, character(U'G'),
     [](Viewer& v) { v.state().large_heads = !v.state().large_heads, v.state().panels.heads_width = 0; },
     [](const Viewer& v) { return v.state().large_heads; }},
    {"statistic", "Colour heads by the next statistic", Menu::heads, character(U'j'), next_statistic, nullptr, true},
    colour_heads<HeadStatistic::entropy>("colour-entropy"),
    colour_heads<HeadStatistic::effective>("colour-effective"),
    colour_heads<HeadStatistic::largest>("colour-largest"),
    colour_heads<HeadStatistic::first>("colour-sink"),
    colour_heads<HeadStatistic::previous>("colour-prev"),
    colour_heads<HeadStatistic::self>("colour-self"),
    colour_heads<HeadStatistic::induction>("colour-induct"),
    colour_heads<HeadStatistic::duplicate>("colour-dup"),
    colour_heads<HeadStatistic::distance>("colour-dist"),
    colour_heads<HeadStatistic::sigma>("colour-sigma"),
    unless(one_run, colour_heads<HeadStatistic::difference>("colour-diff")),

    {"fit", "Fit", Menu::map, character(U'f'), [](Viewer& v) { v.state().part.reset(); },
     [](const Viewer& v) { return !v.state().part; }},
    {"one-to-one", "1 pixel per weight", Menu::map, character(U'1'), one_to_one},
    {"zoom-in", "Zoom in", Menu::map, character(U'+'), [](Viewer& v) { zoom(v, 0.8); }},
    {"zoom-out", "Zoom out", Menu::map, character(U'-'), [](Viewer& v) { zoom(v, 1.25); }},
    {"pan-left", "Move left", Menu::map, shift(Key::left), [](Viewer& v) { pan(v, 0, -1); }},
    {"pan-right", "Move right", Menu::map, shift(Key::right), [](Viewer& v) { pan(v, 0, 1); }},
    {"pan-up", "Move up", Menu::map, shift(Key::up), [](Viewer& v) { pan(v, -1, 0); }},
    {"pan-down", "Move down", Menu::map, shift(Key::down), [](Viewer& v) { pan(v, 1, 0); }},
    {"select-left", "Select previous key", Menu::map, alt(Key::left), [](Viewer& v) { nudge(v, 0, -1); }, nullptr,
     true},
    {"select-right", "Select next key", Menu::map, alt(Key::right), [](Viewer& v) { nudge(v, 0, 1); }},
    {"select-up", "Select previous query", Menu::map, alt(Key::up), [](Viewer& v) { nudge(v, -1, 0); }},
    {"select-down", "Select next query", Menu::map, alt(Key::down), [](Viewer& v) { nudge(v, 1, 0); }},
    {"pin", "Pin query", Menu::map, character(U'p'), [](Viewer& v) { pin_picked(v, Pin::Kind::query); }},
    {"pin-key", "Pin key", Menu::map, character(U'P'), [](Viewer& v) { pin_picked(v, Pin::Kind::key); }},
    {"lines", "Lines to attended tokens", Menu::map, character(U'k'),
     [](Viewer& v) { v.state().lines = !v.state().lines; }, [](const Viewer& v) { return v.state().lines; }},
    {"off-row", "Next row that does not sum to 1", Menu::map, character(U'!'), go_to_off_row},
    {"find", "Find a token", Menu::map, character(U'/'), [](Viewer& v) { v.at().find = v.at().focus_find = true; }},

    {"scale", "Next colour scale", Menu::view, character(U's'), [](Viewer& v) { next(v.state().scale, 3); }},
    scale<AttentionScale::square_root>("scale-sqrt", "Square-root scale"),
    scale<AttentionScale::linear>("scale-linear", "Linear scale"),
    scale<AttentionScale::logarithmic>("scale-log", "Logarithmic scale"),
    {"pooling", "Pool zoomed-out cells by maximum", Menu::view, character(U'm'),
     [](Viewer& v) { next(v.state().pooling, 2); }, [](const Viewer& v) { return v.state().pooling == peak; }, true},
    unless(no_distances, {"axis", "Relative position axis", Menu::view, character(U'r'),
                          [](Viewer& v) { next(v.state().axis, 2), v.state().part.reset(); },
                          [](const Viewer& v) { return v.state().axis == relative; }}),
    {"exclude-first", "Exclude first token (attention sink), renormalised", Menu::view, character(U'x'),
     [](Viewer& v) { v.state().modifiers.sink_off = !v.state().modifiers.sink_off; },
     [](const Viewer& v) { return v.state().modifiers.sink_off; }, true},
    {"row-norm", "Normalise rows by maximum", Menu::view, character(U'n'),
     [](Viewer& v) { v.state().modifiers.row_normalised = !v.state().modifiers.row_normalised; },
     [](const Viewer& v) { return v.state().modifiers.row_normalised; }},
    {"value-weighted", "Weight by value norm ‖v‖", Menu::view, character(U'v'),
     [](Viewer& v) { v.state().modifiers.value_weighted = !v.state().modifiers.value_weighted; },
     [](const Viewer& v) { return v.state().modifiers.value_weighted; }},
    {"over-expected", "Observed / expected", Menu::view, character(U'o'),
     [](Viewer& v) { v.state().modifiers.over_expected = !v.state().modifiers.over_expected; },
     [](const Viewer& v) { return v.state().modifiers.over_expected; }},
    {"colours", "Next colour map", Menu::view, character(U'c'), [](Viewer& v) { next(v.state().colours, 4); }, nullptr,
     true},
    colour_map<ColourMap::magma>("colours-magma", "Magma"),
    colour_map<ColourMap::viridis>("colours-viridis", "Viridis"),
    colour_map<ColourMap::cividis>("colours-cividis", "Cividis"),
    colour_map<ColourMap::grey>("colours-grey", "Grey"),
    {"maximum-down", "Lower maximum", Menu::view, character(U'('), [](Viewer& v) { move_end(v, BarEnd::bright, -1); },
     nullptr, true},
    {"maximum-up", "Raise maximum", Menu::view, character(U')'), [](Viewer& v) { move_end(v, BarEnd::bright, 1); }},
    unless(symmetric, {"minimum-down", "Lower minimum", Menu::view, character(U'{'),
                       [](Viewer& v) { move_end(v, BarEnd::dark, -1); }}),
    unless(symmetric, {"minimum-up", "Raise minimum", Menu::view, character(U'}'),
                       [](Viewer& v) { move_end(v, BarEnd::dark, 1); }}),
    {"reset-range", "Reset colour range", Menu::view, character(U'0'),
     [](Viewer& v) { v.state().range = v.default_ends(), v.state().difference_max = ViewState().difference_max; },
     [](const Viewer& v) { return v.state().range == v.default_ends(); }},
    {"panel-larger", "Larger panel", Menu::view, character(U'*'), [](Viewer& v) { resize_panel(v, 1); }, nullptr, true},
    {"panel-smaller", "Smaller panel", Menu::view, character(U'_'), [](Viewer& v) { resize_panel(v, -1); }},
    {"reset-panels", "Automatic panel sizes", Menu::view, character(U'='), [](Viewer& v) { v.state().panels = {}; },
     [](const Viewer& v) { return v.state().panels == PanelSizes{}; }},
    {"theme", "Light theme", Menu::view, character(U't'), [](Viewer& v) { next(v.state().theme, 2); },
     [](const Viewer& v) { return v.state().theme == Theme::light; }, true},
    {"larger", "Larger interface", Menu::view, control(U'+'), [](Viewer& v) { v.set_scale(v.scale() * 1.1f); }},
    {"smaller", "Smaller interface", Menu::view, control(U'-'), [](Viewer& v) { v.set_scale(v.scale() / 1.1f); }},

    show_runs<ShownRuns::a>("show-a", "A only", U'['),
    show_runs<ShownRuns::b>("show-b", "B only", U']'),
    show_runs<ShownRuns::both>("show-both", "A and B side by side", U'w'),
    unless(one_run, {"difference", "Difference B − A", Menu::compare, character(U'd'), toggle_difference,
                     [](const Viewer& v) { return v.runs().shown() == ShownRuns::difference; }, false, false, true}),
    unless(one_run, {"blink", "Blink A/B", Menu::compare, character(U'b'), [](Viewer& v) { v.toggle_blinking(); },
                     [](const Viewer& v) { return v.at().blink_from.has_value(); }, true}),

    {"next-panel", "Next panel", Menu::help, special(Key::tab), [](Viewer& v) { next_area(v, 1); }, nullptr, false,
     true},
    {"previous-panel", "Previous panel", Menu::help, shift(Key::tab), [](Viewer& v) { next_area(v, -1); }, nullptr,
     false, true},
    {"menu", "Menus", Menu::help, special(function_key(10)), open_or_close_menus, nullptr, false, true},
    {"help", "Keys", Menu::help, character(U'?'), [](Viewer& v) { v.at().help = !v.at().help; },
     [](const Viewer& v) { return v.at().help; }},
    {"escape", "Close, unpin, follow", Menu::help, special(Key::escape), step_back_out},
});

}  // namespace

const char* name_of(Menu menu) {
    constexpr std::array<const char*, menu_count> names{"File", "Model", "Heads", "Map", "View", "Compare", "Help"};
    return names.at(static_cast<std::size_t>(menu));
}

std::span<const Action> actions() { return action_table; }

const char* refusal_of(const Action& action, const Viewer& viewer) {
    return action.refusal != nullptr ? action.refusal(viewer) : nullptr;
}

void perform(Viewer& viewer, const Action& action) {
    if (const char* why = refusal_of(action, viewer)) return viewer.say(why);
    action.run(viewer);
}

const Action& action_named(const std::string& word) {
    const auto found = std::ranges::find_if(action_table, [&](const Action& action) { return action.word == word; });
    if (found == action_table.end()) throw Error(ErrorKind::failure, "the viewer has no action '" + word + "'");
    return *found;
}

}  // namespace vantage::view
