// The command line of a view: one table of options, used to read and to write it.
#include "viewer/data/view_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/picture/shown_text.h"
#include "runtime/session/weight_types.h"

namespace vantage::view {

namespace {

// ---- words of an option: enumerations and numbers -------------------------------------------------------------------

// The first word of a value is its name. Others are accepted from older command lines, and not listed.

constexpr Word<CellPooling> pooling_words[] = {
    {CellPooling::mass, "sum"}, {CellPooling::peak, "max"}, {CellPooling::mass, "mass"}, {CellPooling::peak, "peak"}};
constexpr Word<KeyAxis> axis_words[] = {{KeyAxis::absolute, "absolute"}, {KeyAxis::relative, "relative"}};
constexpr Word<Theme> theme_words[] = {{Theme::dark, "dark"}, {Theme::light, "light"}};
constexpr Word<HeadOrder> order_words[] = {{HeadOrder::index, "index"}, {HeadOrder::value, "value"}};
constexpr Word<AttentionKind> kind_words[] = {
    {AttentionKind::self, "self"}, {AttentionKind::encoder, "encoder"}, {AttentionKind::cross, "cross"}};
const Word<HeadStatistic> statistic_words[] = {{HeadStatistic::entropy, "entropy"},
                                               {HeadStatistic::effective, "effective"},
                                               {HeadStatistic::largest, "largest"},
                                               {HeadStatistic::first, info_of(HeadPattern::attention_sink).id},
                                               {HeadStatistic::previous, info_of(HeadPattern::previous_token).id},
                                               {HeadStatistic::self, info_of(HeadPattern::self).id},
                                               {HeadStatistic::induction, info_of(HeadPattern::induction).id},
                                               {HeadStatistic::duplicate, info_of(HeadPattern::duplicate_token).id},
                                               {HeadStatistic::distance, "distance"},
                                               {HeadStatistic::sigma, "sigma"},
                                               {HeadStatistic::difference, "difference"},
                                               {HeadStatistic::first, "first"},
                                               {HeadStatistic::previous, "previous"},
                                               {HeadStatistic::duplicate, "duplicate"}};
constexpr Word<ShownRuns> shown_words[] = {
    {ShownRuns::both, "both"}, {ShownRuns::a, "a"}, {ShownRuns::b, "b"}, {ShownRuns::difference, "difference"}};

template <class E, std::size_t N>
const char* word_for(const Word<E> (&words)[N], E value) {
    return std::ranges::find(words, value, &Word<E>::value)->word;
}

[[noreturn]] void refuse(const std::string& option, const std::string& got, const std::string& wanted) {
    constexpr int max_columns = 60;  // columns: a prompt may be a page
    throw usage_error("view: {} is {}, but takes {}", option, shortened(without_controls(got), max_columns), wanted);
}

/// "sum, max".
template <class E, std::size_t N>
std::string listed(const Word<E> (&words)[N]) {
    std::string all;
    for (const Word<E>& word : words)
        if (word.word == word_for(words, word.value)) all += (all.empty() ? "" : ", ") + std::string(word.word);
    return all;
}

template <class E, std::size_t N>
E value_for(const Word<E> (&words)[N], const std::string& option, const std::string& text) {
    for (const Word<E>& word : words)
        if (text == word.word) return word.value;
    refuse(option, text, "one of " + listed(words));
}

template <class Number>
Number number_in(const std::string& option, std::string_view text, Number minimum, const char* wanted) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !(number >= minimum))
        refuse(option, "\"" + std::string(text) + "\"", wanted);
    if constexpr (std::is_floating_point_v<Number>)
        if (!std::isfinite(number)) refuse(option, std::string(text), wanted);
    return number;
}
std::int64_t whole(const std::string& option, std::string_view text) {
    return number_in<std::int64_t>(option, text, 0, "a whole number, 0 or more");
}
std::int64_t rows_in(const std::string& option, std::string_view text) {
    return number_in<std::int64_t>(option, text, 1, "a whole number, 1 or more");
}
double real(const std::string& option, std::string_view text) {
    return number_in<double>(option, text, 0, "a number, 0 or more");
}

double above_zero(const std::string& option, std::string_view text) {
    return number_in<double>(option, text, std::numeric_limits<double>::min(), "a number above 0");
}

std::string text_of(double number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

Rectangle part_in(const std::string& option, const std::string& text) {
    const std::size_t comma = text.find(','), first = text.find(':'), second = text.rfind(':');
    const char* wanted = "rows and columns from 0 such as 0:20,4:24";
    if (comma == std::string::npos || first > comma || second < comma || first == std::string::npos)
        refuse(option, "\"" + text + "\"", wanted);
    const auto at = [&](std::size_t begin, std::size_t end) {
        return number_in<double>(option, std::string_view(text).substr(begin, end - begin), 0, wanted);
    };
    const Rectangle part{at(0, first), at(first + 1, comma), at(comma + 1, second), at(second + 1, text.size())};
    if (!(part.rows() > 0) || !(part.columns() > 0)) refuse(option, text, wanted);
    return part;
}

Pin pin_in(const std::string& option, const std::string& text) {
    if (text.empty() || (text[0] != 'q' && text[0] != 'k'))
        refuse(option, "\"" + text + "\"", "q or k and a token number, such as q12");
    return {text[0] == 'q' ? Pin::Kind::query : Pin::Kind::key, whole(option, std::string_view(text).substr(1))};
}

// ---- the table ------------------------------------------------------------------------------------------------------

using Values = std::vector<std::string>;
const std::string is_set;  // the value of a flag

/// An option; one without a value is a flag. `take` changes a state; `give` returns the values that a command line
/// needs, one for each time it is given.
struct Option : OptionText {
    using Take = std::function<void(ViewState&, const std::string& value)>;
    using Give = std::function<Values(const ViewState&, const ViewState& defaults)>;
    Take take;
    Give give;
    // Not an aggregate: g++ 12 destroys the base twice where a later member cannot be made for lack of memory.
    Option(OptionText text, Take take_value, Give give_values)
        : OptionText(std::move(text)), take(std::move(take_value)), give(std::move(give_values)) {}
};

template <class Member>
Option flag(const char* name, Member member, const char* help) {
    return {{name, "", help},
            [=](ViewState& s, const std::string&) { member(s) = true; },
            [=](const ViewState& s, const ViewState&) { return member(s) ? Values{is_set} : Values{}; }};
}

/// An option of a member that has a default. `read` makes a value of a text, `write` the text of a value.
template <class Member, class Read, class Write>
Option valued(const char* name, const char* value, Member member, const std::string& help, Read read, Write write) {
    return {{name, value, help},
            [=](ViewState& s, const std::string& text) { member(s) = read(name, text); },
            [=](const ViewState& s, const ViewState& defaults) {
                return member(s) == member(defaults) ? Values{} : Values{write(member(s))};
            }};
}

template <class E, std::size_t N, class Member>
Option word(const char* name, const Word<E> (&words)[N], Member member, const std::string& help) {
    return valued(
        name, "WORD", member, help,
        [&words](const std::string& option, const std::string& text) { return value_for(words, option, text); },
        [&words](E value) { return word_for(words, value); });
}

template <class Member>
Option number(const char* name, Member member, const char* help) {
    return valued(name, "X", member, help, real, [](double value) { return text_of(value); });
}

template <class Member>
Option count(const char* name, Member member, const char* help) {
    using Count = std::remove_reference_t<std::invoke_result_t<Member, ViewState&>>;
    return valued(
        name, "N", member, help,
        [](const std::string& option, const std::string& text) { return static_cast<Count>(whole(option, text)); },
        [](Count value) { return std::to_string(value); });
}

/// A member of the focused head's id.
template <class Member>
Option place(const char* name, Member member, const char* help) {
    return {{name, "N", help},
            [=](ViewState& s, const std::string& value) {
                member(s.head ? *s.head : s.head.emplace()) = whole(name, value);
            },
            [=](const ViewState& s, const ViewState&) {
                return s.head ? Values{std::to_string(member(*s.head))} : Values{};
            }};
}

/// The member at the end of a chain of members.
template <class... Member>
auto field(Member... member) {
    return [=](auto& s) -> auto& { return (s.*....*member); };
}

Option text(const char* name, const char* value, std::string ViewState::*member, const char* help) {
    return valued(
        name, value, field(member), help, [](const std::string&, const std::string& text) { return text; },
        std::identity());
}

DType weight_type_in(const std::string& option, const std::string& text) {
    const auto found = weight_types.find(text);
    if (found == weight_types.end())
        refuse(option, text, "one of f32, f16, bf16, q8, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4");
    return found->second;
}

/// int8 is accepted here: only the program knows the precision of both runs, and says why it refuses int8.
Precision precision_in(const std::string& option, const std::string& text) {
    if (text != "f16" && text != "f32" && text != "int8") refuse(option, text, "one of f16, f32");
    return precision_named(text);
}

constexpr const char* compared_words = "prompt=TEXT, model=DIR, weights=WORD, precision=WORD or attention-kind=KIND";

/// "model=DIR": one difference of B.
void take_compared(Compared& compared, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string what = text.substr(0, equals), value = equals < text.size() ? text.substr(equals + 1) : "";
    const auto once = [&](auto& member, auto given) {
        if (member) refuse("--compare", "\"" + text + "\"", "one " + what + ": there is one second run");
        member = std::move(given);
    };
    if (value.empty()) refuse("--compare", "\"" + text + "\"", compared_words);
    if (what == "prompt")
        once(compared.prompt, value);
    else if (what == "model")
        once(compared.model, value);
    else if (what == "weights")
        once(compared.weights, weight_type_in("--compare weights", value));
    else if (what == "precision")
        once(compared.precision, precision_in("--compare precision", value));
    else if (what == "attention-kind")
        once(compared.variant, attention_variant_named(value));
    else
        refuse("--compare", "\"" + text + "\"", compared_words);
}
Option compare_option() {
    return {{"--compare", "WHAT=VALUE",
             "Compare with a second run that differs in prompt=TEXT, model=DIR, weights=q4, precision=f32 or "
             "attention-kind=KIND; repeatable",
             true},
            [](ViewState& s, const std::string& value) {
                take_compared(s.compared ? *s.compared : s.compared.emplace(), value);
            },
            [](const ViewState& s, const ViewState&) {
                Values values;
                if (!s.compared) return values;
                const Compared& c = *s.compared;
                if (c.prompt) values.push_back("prompt=" + *c.prompt);
                if (c.model) values.push_back("model=" + *c.model);
                if (c.weights) values.push_back("weights=" + weight_type_name(*c.weights));
                if (c.precision) values.push_back(std::string("precision=") + name_of(*c.precision));
                if (c.variant) values.push_back("attention-kind=" + name_of(*c.variant));
                return values;
            }};
}
Option of_option() {
    return {{"--of", "WORD", "Kind of attention: self, encoder or cross"},
            [](ViewState& s, const std::string& value) {
                (s.head ? *s.head : s.head.emplace()).kind = value_for(kind_words, "--of", value);
            },
            [](const ViewState& s, const ViewState&) {
                return s.head && s.head->kind != AttentionKind::self ? Values{word_for(kind_words, s.head->kind)}
                                                                     : Values{};
            }};
}
Option pin_option() {
    return {{"--pin", "PIN", "Pin a query or a key, such as q12 or k3; repeatable", true},
            [](ViewState& s, const std::string& value) { s.pins.push_back(pin_in("--pin", value)); },
            [](const ViewState& s, const ViewState&) {
                Values values;
                for (const Pin& pin : s.pins)
                    values.push_back((pin.kind == Pin::Kind::query ? "q" : "k") + std::to_string(pin.token));
                return values;
            }};
}

const std::vector<Option>& options() {
    static const std::vector<Option> all = {
        text("-p", "TEXT", &ViewState::prompt, "Prompt; - reads stdin"),
        compare_option(),
        text("--image", "FILE", &ViewState::image,
             "Image for an image model: PNG, JPEG, or safetensors with pixel_values"),
        count("--image-index", field(&ViewState::image_index), "Index into pixel_values, from 0"),
        count("-n", field(&ViewState::max_tokens), "Maximum number of tokens to generate"),
        number("--temp", field(&ViewState::sampling, &Sampling::temperature),
               "Temperature; 0: the most probable token, whatever --seed, --top-k, --top-p and --min-p are"),
        count("--top-k", field(&ViewState::sampling, &Sampling::top_k), "Keep the k most probable tokens; 0: all"),
        number("--top-p", field(&ViewState::sampling, &Sampling::top_p),
               "Keep the smallest set of tokens with at least this total probability"),
        number("--min-p", field(&ViewState::sampling, &Sampling::min_p),
               "Keep tokens with at least this fraction of the largest probability"),
        number("--repeat-penalty", field(&ViewState::sampling, &Sampling::repeat_penalty),
               "Divide positive logits of earlier tokens by this"),
        count("--seed", field(&ViewState::sampling, &Sampling::seed), "Random seed; the same seed gives the same text"),
        flag("--ignore-eos", field(&ViewState::sampling, &Sampling::ignore_end), "Continue after end tokens"),
        place("--layer", field(&HeadId::layer), "Layer of the focused head"),
        place("--head", field(&HeadId::head), "Number of the focused head in its layer"),
        of_option(),
        word("--show", shown_words, field(&ViewState::shown), "With --compare: both, a, b, or difference (b − a)"),
        valued("--part", "ROWS,COLUMNS", field(&ViewState::part),
               "Visible part of the map, in tokens: ROWS,COLUMNS such as 0:20,4:24", part_in,
               [](const auto& part) { return text_of(*part); }),
        valued("--rows", "N", field(&ViewState::rows), "Show the state after N rows", rows_in,
               [](const auto& rows) { return std::to_string(*rows); }),
        word("--axis", axis_words, field(&ViewState::axis), "Columns: absolute (keys) or relative (distances)"),
        word("--pool", pooling_words, field(&ViewState::pooling), "Pooling of zoomed-out cells: sum or max"),
        flag("--sink-off", field(&ViewState::modifiers, &Modifiers::sink_off),
             "Exclude the first token (attention sink), renormalised"),
        flag("--value-weighted", field(&ViewState::modifiers, &Modifiers::value_weighted),
             "Weight by value norm: p·‖v‖"),
        flag("--row-norm", field(&ViewState::modifiers, &Modifiers::row_normalised), "Normalise rows by maximum"),
        flag("--over-expected", field(&ViewState::modifiers, &Modifiers::over_expected),
             "Observed / expected: weights divided by the head's mean at the same distance"),
        pin_option(),
        flag("--lines", field(&ViewState::lines), "Lines from the pinned query to the tokens it attends to"),
        word("--scale", attention_scale_words, field(&ViewState::scale),
             "Colour scale: linear, sqrt or log. Default: sqrt; with --over-expected log"),
        number("--min", field(&ViewState::range, &ValueRange::min),
               "Minimum of the colour range. Default: 0; with --over-expected 0.0625"),
        number(
            "--max", field(&ViewState::range, &ValueRange::max),
            "Maximum of the colour range. Default: 1; with --over-expected 16; with --value-weighted the largest ‖v‖"),
        valued("--max-difference", "X", field(&ViewState::difference_max),
               "Range of the colour bar of differences: −X to X. Default: 99 % of the visible ones are within",
               above_zero, [](double value) { return text_of(value); }),
        word("--colours", colour_map_words, field(&ViewState::colours), "Colour map: magma, viridis, cividis or grey"),
        word("--theme", theme_words, field(&ViewState::theme), "Theme: dark or light"),
        word("--statistic", statistic_words, field(&ViewState::statistic),
             "Statistic that colours the heads: " + listed(statistic_words)),
        word("--order", order_words, field(&ViewState::order), "Order of the heads: index or value"),
        flag("--mini-maps", field(&ViewState::mini_maps), "Show head thumbnails"),
        flag("--large-heads", field(&ViewState::large_heads), "Enlarge the panel of the heads"),
        count("--heads-width", field(&ViewState::panels, &PanelSizes::heads_width),
              "Width of the panels Heads and Statistics in pixels, at a UI scale of 1; 0: automatic"),
        count("--cell-width", field(&ViewState::panels, &PanelSizes::cell_width), "Width of the panel Cell"),
        count("--text-height", field(&ViewState::panels, &PanelSizes::text_height),
              "Height of the panel Text or Image below the map"),
    };
    return all;
}

const Option* option_named(const std::string& name) {
    const auto found = std::ranges::find_if(options(), [&](const Option& option) { return option.name == name; });
    return found == options().end() ? nullptr : &*found;
}

/// The defaults of a view with these modifiers.
ViewState default_with(const Modifiers& modifiers) {
    ViewState state;
    state.range = default_range(modifiers), state.scale = default_scale(modifiers);
    return state;
}

ViewState read_words(std::span<const std::string> words, ViewState state) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Option* option = option_named(words[i]);
        if (option == nullptr) throw usage_error("view: \"{}\" is not an option of a view", words[i]);
        if (!option->value.empty() && i + 1 == words.size())
            throw usage_error("view: {} needs a value: {}", words[i], option->help);
        option->take(state, option->value.empty() ? is_set : words[++i]);
    }
    return state;
}

}  // namespace

const char* name_of(CellPooling pooling) { return word_for(pooling_words, pooling); }
const char* name_of(KeyAxis axis) { return word_for(axis_words, axis); }
const char* name_of(Theme theme) { return word_for(theme_words, theme); }
const char* name_of(HeadOrder order) { return word_for(order_words, order); }
const char* name_of(ShownRuns shown) { return word_for(shown_words, shown); }
const char* unit_of(const Modifiers& m) {
    if (m.over_expected) return "× expected";
    return m.value_weighted && !m.row_normalised ? "p·‖v‖" : "weight";
}
const char* word_of(HeadStatistic statistic) { return word_for(statistic_words, statistic); }

const char* name_of(HeadStatistic statistic) {
    static const std::array names{"entropy",
                                  "effective tokens",
                                  "largest weight",
                                  info_of(HeadPattern::attention_sink).name,
                                  info_of(HeadPattern::previous_token).name,
                                  info_of(HeadPattern::self).name,
                                  info_of(HeadPattern::induction).name,
                                  info_of(HeadPattern::duplicate_token).name,
                                  "mean distance (tokens)",
                                  "fitted width (tokens)",
                                  "difference of A and B"};
    return at(names, statistic);
}

std::string text_of(const Compared& c) {
    std::string text;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
    if (c.prompt) add("prompt “" + *c.prompt + "”");
    if (c.model) add("model " + *c.model);
    if (c.weights) add("weights " + weight_type_name(*c.weights));
    if (c.precision) add(std::string("precision ") + name_of(*c.precision));
    if (c.variant) add("attention kind " + name_of(*c.variant));
    return text;
}

ValueRange default_range(const Modifiers& modifiers) {
    constexpr double max_ratio = 16;
    if (modifiers.over_expected) return {1 / max_ratio, max_ratio};
    return modifiers.value_weighted && !modifiers.row_normalised ? ValueRange{0, 0} : ValueRange{};
}

AttentionScale default_scale(const Modifiers& modifiers) {
    return modifiers.over_expected ? AttentionScale::logarithmic : AttentionScale::square_root;
}

std::vector<ScaleTick> bar_ticks(const ValueRange& range, AttentionScale scale, const Modifiers& modifiers) {
    const auto min = static_cast<float>(range.min), max = static_cast<float>(range.max);
    if (!modifiers.over_expected) return scale_ticks(max, scale, min);
    constexpr float apart = 0.05f;  // of the bar, so that texts do not touch
    std::vector<ScaleTick> ticks;
    const auto add = [&](float value, const char* sign) {
        const float place = position_of(value, max, scale, min);
        if (!ticks.empty() && place - ticks.back().position < apart) return;
        ticks.push_back(
            {value, place,
             sign + (value < 1 && value > 0 ? "÷" + weight_text(1 / value, 2) : "×" + weight_text(value, 2))});
    };
    add(min, "≤ ");
    for (int power = -10; power <= 10; ++power)
        if (const float value = std::ldexp(1.0f, 2 * power); value > min && value < max * 0.99f) add(value, "");
    if (1 - ticks.back().position < apart && ticks.size() > 1) ticks.pop_back();
    add(max, "≥ ");
    return ticks;
}

bool ViewState::operator==(const ViewState& other) const { return as_command_line(*this) == as_command_line(other); }

std::string text_of(const Rectangle& part) {
    return text_of(part.first_row) + ":" + text_of(part.last_row) + "," + text_of(part.first_column) + ":" +
           text_of(part.last_column);
}

std::string as_command_line(const ViewState& state) {
    const ViewState defaults = default_with(state.modifiers);
    std::string line;
    for (const Option& option : options())
        for (const std::string& value : option.give(state, defaults)) {
            line += (line.empty() ? "" : " ") + option.name;
            if (!option.value.empty()) line += " " + shell_word(value);
        }
    return line;
}

ViewState state_from(std::span<const std::string> words) {
    const ViewState state = read_words(words, default_with(read_words(words, {}).modifiers));
    const bool follows_values =
        state.range.max == 0 && default_range(state.modifiers).max == 0;  // known only to the viewer
    if (!follows_values && !(state.range.min < state.range.max))
        refuse("--max", text_of(state.range.max), "a number above --min, which is " + text_of(state.range.min));
    if (state.image_index != 0 && state.image.empty())
        refuse("--image-index", std::to_string(state.image_index), "an image (--image)");
    if (state.compared) return state;
    if (state.difference_max != 0)
        refuse("--max-difference", text_of(state.difference_max), "a second run (--compare)");
    if (state.shown != ShownRuns::both) refuse("--show", name_of(state.shown), "a second run (--compare)");
    if (state.statistic == HeadStatistic::difference) refuse("--statistic", "difference", "a second run (--compare)");
    return state;
}

std::vector<OptionText> option_texts() { return {options().begin(), options().end()}; }

}  // namespace vantage::view
