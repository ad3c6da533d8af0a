#include "viewer/panels/areas.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewed_runs.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Steps of an arrow key; none for other keys.
struct Steps {
    int right = 0, down = 0;
    explicit operator bool() const { return right != 0 || down != 0; }
};
Steps steps_of(const Shortcut& s) {
    switch (s.key) {
        case Key::left: return {.right = -1};
        case Key::right: return {.right = 1};
        case Key::up: return {.down = -1};
        case Key::down: return {.down = 1};
        default: return {};
    }
}

/// The panel of an area, or the colour bar; null for the fields of the prompt.
const Box* panel_of(const Layout& l, const FocusPlaces& places, Area area) {
    switch (area) {
        case Area::map: return &l.focus;
        case Area::bar: return &places.bar;
        case Area::heads: return &l.heads;
        case Area::numbers: return &l.numbers;
        case Area::text: return &l.tokens;
        case Area::time: return &l.timeline;
        default: return nullptr;
    }
}

bool is_there(Viewer& v, Area area) {
    if (const Box* panel = panel_of(v.layout(), v.panes().back().places, area))
        return area == Area::map || panel->wide > 0;
    if (area == Area::prompt || area == Area::run) return v.runs().a().live.commanded();
    return static_cast<int>(area) - static_cast<int>(Area::temperature) < v.at().numbers_shown;
}

bool act_in_map(Viewer& v, const Shortcut& s) {
    if (const Steps steps = steps_of(s))
        nudge(v, steps.down, steps.right);
    else if (s.key == Key::enter)
        pin_picked(v, s.shift ? Pin::Kind::key : Pin::Kind::query);
    else
        return false;
    return true;
}

bool act_in_bar(Viewer& v, const Shortcut& s) {
    if (const Steps steps = steps_of(s); steps.down != 0)
        perform(v, action_named(std::string(s.shift ? "minimum" : "maximum") + (steps.down > 0 ? "-down" : "-up")));
    else if (s.key == Key::enter)
        action_named("reset-range").run(v);
    else
        return false;
    return true;
}

/// Moves through the heads in the displayed order.
bool act_in_heads(Viewer& v, const Shortcut& s) {
    const Steps steps = steps_of(s);
    if (!steps) return false;
    const auto& heads = v.runs().a().live.heads();
    const HeadOrderCells cells = head_cells(v.runs().a().live, v.state(), v.runs().head_numbers());
    const auto own = static_cast<std::size_t>(std::ranges::find(heads, v.runs().head()) - heads.begin());
    const std::int64_t step = steps.right + steps.down * head_grid(v.runs().a().live).columns;
    std::int64_t to = std::ranges::find(cells, std::optional(own)) - cells.begin() + step;
    while (to >= 0 && to < std::ssize(cells) && !at(cells, to)) to += step;  // skip empty cells
    if (to >= 0 && to < std::ssize(cells)) go_to_head(v, heads[*at(cells, to)]);
    return true;
}

bool act_in_numbers(Viewer& v, const Shortcut& s) {
    if (const Steps steps = steps_of(s); steps.down != 0)
        v.state().statistic = static_cast<HeadStatistic>(
            std::clamp(static_cast<int>(v.state().statistic) + steps.down, 0, head_statistic_count - 1));
    else if (s.key == Key::enter)
        v.state().order = v.state().order == HeadOrder::index ? HeadOrder::value : HeadOrder::index;
    else
        return false;
    return true;
}

/// The panel knows the places of its tokens: it applies the step when it is drawn.
bool act_in_text(Viewer& v, const Shortcut& s) {
    if (const Steps steps = steps_of(s)) {
        v.at().text_step = {steps.right, steps.down};
    } else if (s.key == Key::enter && v.at().picked_token) {
        // in cross-attention the queries' text has no keys
        const bool key = s.shift && v.runs().head().kind != AttentionKind::cross;
        toggle_pin(v.state(), {key ? Pin::Kind::key : Pin::Kind::query, *v.at().picked_token});
    } else {
        return false;
    }
    return true;
}

bool act_in_time(Viewer& v, const Shortcut& s) {
    if (const Steps steps = steps_of(s); steps.right != 0)
        go_to_row(v, v.runs().rows() + steps.right * (s.shift ? 10 : 1));
    else if (s.key == Key::home)
        go_to_row(v, 1);
    else if (s.key == Key::end || s.key == Key::enter)
        v.state().rows.reset();
    else
        return false;
    return true;
}

// ---- sampling parameters

constexpr std::array fields = std::to_array<NumberField>({
    {Area::temperature, "temp", "Temperature; at 0 the most probable token is taken", 5, 0.05, false},
    {Area::top_p, "top-p", "Draw from the smallest set of tokens with at least this total probability", 1, 0.01, false},
    {Area::seed, "seed", "Random seed; the same seed gives the same text", 999999, 1, true},
    {Area::length, "tokens", "Maximum number of tokens to generate", 100000, 1, true},
    {Area::speed, "tok/s", "Maximum speed in tokens per second; 0: no limit", 1000, 1, true},
});

bool is_number(Area area) { return std::ranges::count(fields, area, &NumberField::area) > 0; }

double number_in(const Viewer& v, Area area) {
    const Sampling& sampling = v.at().sampling;
    switch (area) {
        case Area::temperature: return sampling.temperature;
        case Area::top_p: return sampling.top_p;
        case Area::seed: return static_cast<double>(sampling.seed);
        case Area::length: return static_cast<double>(v.at().max_tokens);
        default: return v.runs().a().live.speed();
    }
}

void set_number(Viewer& v, Area area, double wanted) {
    const double value = std::clamp(wanted, 0.0, number_field_of(area).maximum);
    Sampling& sampling = v.at().sampling;
    switch (area) {
        case Area::temperature: sampling.temperature = value; return;
        case Area::top_p: sampling.top_p = value; return;
        case Area::seed: sampling.seed = static_cast<std::uint64_t>(value); return;
        case Area::length: v.at().max_tokens = static_cast<std::int64_t>(value); return;
        default: v.set_speed(value);
    }
}

/// The number that was typed; 0 for an empty text.
double typed_number(const std::string& typed) {
    double value = 0;
    std::from_chars(typed.data(), typed.data() + typed.size(), value);
    return value;
}

/// Up and down change a number, tenfold with Shift.
bool act_in_number(Viewer& v, Area area, const Shortcut& s) {
    std::string& typed = v.at().typed;
    if (s.key == Key::backspace) {
        if (!typed.empty()) typed.pop_back();
        if (!typed.empty()) set_number(v, area, typed_number(typed));
        return true;
    }
    const Steps arrows = steps_of(s);
    const int steps = (arrows.right - arrows.down) * (s.shift ? 10 : 1);
    if (steps == 0 && s.key != Key::enter) return false;
    typed.clear();
    if (s.key == Key::enter) {
        v.run_prompt();
        return true;
    }
    const double step = number_field_of(area).step;
    // rounded to multiples of the step
    set_number(v, area, std::round((number_in(v, area) + steps * step) / step) / std::round(1 / step));
    return true;
}

}  // namespace

const NumberField& number_field_of(Area area) { return *std::ranges::find(fields, area, &NumberField::area); }

std::string NumberField::hint() const {
    return meaning + format("\n0 to {:g}: click and type, drag, or press ↑ ↓", maximum);
}

void draw_area_frame(const Ui& ui, const FocusPlaces& places) {
    if (!ui.at.area || ui.at.help || ui.at.menu) return;
    const Box* panel = panel_of(ui.layout, places, *ui.at.area);
    const Box box = panel == nullptr           ? ui.at.area_box.inset(-ui.px(2))
                    : *ui.at.area == Area::bar ? panel->inset(-ui.px(4))
                                               : *panel;
    outline(box, ui.palette.accent, ui.px(2), ui.px(6), foreground());
}

void next_area(Viewer& v, int step) {
    Interaction& at = v.at();
    at.help = at.find = false;
    at.leave_field = at.typing;
    at.typed.clear();
    int area = at.area ? static_cast<int>(*at.area) : step > 0 ? -1 : area_count;
    do area = (area + step + area_count) % area_count;
    while (!is_there(v, static_cast<Area>(area)));
    at.area = static_cast<Area>(area);
    at.focus_prompt = at.area == Area::prompt;
}

bool type_digit(Viewer& v, char32_t character) {
    if (!v.at().area || !is_number(*v.at().area)) return false;
    constexpr std::size_t longest = 8;
    std::string& typed = v.at().typed;
    const NumberField& field = number_field_of(*v.at().area);
    const bool point = character == U'.' && !field.whole && typed.find('.') == std::string::npos;
    if (!point && (character < U'0' || character > U'9')) return false;
    const std::string longer = typed + static_cast<char>(character);
    if (longer.size() > longest || typed_number(longer) > field.maximum) {
        v.say(format("{}: 0 to {:g}", field.name, field.maximum));
        return true;
    }
    typed = longer;
    set_number(v, field.area, typed_number(typed));
    return true;
}

bool act_in_area(Viewer& v, const Shortcut& s) {
    if (!v.at().area || s.key == Key::none || s.control || s.alt) return false;
    switch (*v.at().area) {
        case Area::map: return act_in_map(v, s);
        case Area::bar: return act_in_bar(v, s);
        case Area::heads: return act_in_heads(v, s);
        case Area::numbers: return act_in_numbers(v, s);
        case Area::text: return act_in_text(v, s);
        case Area::time: return act_in_time(v, s);
        case Area::prompt: return false;
        case Area::run:
            if (s.key == Key::enter) v.run_or_stop();
            return s.key == Key::enter;
        default: return act_in_number(v, *v.at().area, s);
    }
}

}  // namespace vantage::view
