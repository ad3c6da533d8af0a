// What files say of themselves, and the forms that are tables: CSV, JSON, NumPy's.
#include "viewer/export/view_export.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/npy.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/shown_text.h"

namespace vantage::view {

namespace {

std::string count_text(std::int64_t number) { return std::to_string(number); }

/// The tokens of a cell: the first, and the last where there are several.
template <class Text>
std::string span_label(Text text, std::int64_t first, std::int64_t end) {
    const auto label = [&](std::int64_t i) {
        const std::optional<std::string> one = text(i);
        return one ? *one : count_text(i);
    };
    return end > first + 1 ? label(first) + " … " + label(end - 1) : label(first);
}

std::string modifiers_text(const Modifiers& m) {
    std::string text;
    const auto add = [&](bool on, const char* name) {
        if (on) text += (text.empty() ? "" : ", ") + std::string(name);
    };
    add(m.sink_off, "first token excluded, renormalised");
    add(m.value_weighted, "weighted by value norm ‖v‖");
    add(m.row_normalised, "rows normalised by maximum");
    add(m.over_expected, "observed / expected");
    return text.empty() ? "none" : text;
}

std::string in_quotes_csv(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' ? std::string("\"\"") : std::string(1, c);
    return all + "\"";
}

/// The shortest text that reads back as this number.
std::string number_text(float value) { return std::isfinite(value) ? format("{:.9g}", value) : "nan"; }

nlohmann::json table_of(const ViewSubject& s, CellPooling pooling) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::int64_t r = 0; r < s.cells.rows; ++r) {
        nlohmann::json row = nlohmann::json::array();
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            if (s.hidden(r, c))
                row.push_back(nullptr);
            else
                row.push_back(s.value(r, c, pooling));
        rows.push_back(std::move(row));
    }
    return rows;
}

nlohmann::json facts_json(const ViewSubject& s) {
    nlohmann::json facts;
    for (const auto& [key, value] : facts_of(s)) facts[key] = repair_utf8(value);
    return facts;
}

/// Whether a map shows nothing of a cell of so many slots, as in the window: of a run where none of them has a token of
/// it, of the difference where one of them is not a pair.
bool is_gap(const Alignment& slots, ShownRuns shown, std::int64_t first, std::int64_t size) {
    if (slots.a.plain()) return false;
    const std::int64_t end = std::min(first + size, slots.count());
    const auto tokens = [&](const Slots& side) { return side.tokens_before(end) - side.tokens_before(first); };
    if (shown == ShownRuns::difference) {
        for (std::int64_t slot = first; slot < end; ++slot)
            if (!slots.paired(slot)) return true;
        return false;
    }
    return tokens(shown == ShownRuns::b ? slots.b : slots.a) == 0;
}

/// The label of a token, or of a slot: of the run that is shown, of a difference of both.
std::optional<std::string> slot_label(const Alignment& slots, const std::vector<std::string>& a,
                                      const std::vector<std::string>& b, ShownRuns shown, std::int64_t slot,
                                      bool spaces) {
    const auto of = [&](const Slots& side, const std::vector<std::string>& texts) -> std::optional<std::string> {
        const auto token = side.token(slot);
        if (!token || *token >= std::ssize(texts)) return std::nullopt;
        const std::string label = token_label(at(texts, *token));
        constexpr std::string_view space = "·";
        return !spaces && label.size() > space.size() && label.starts_with(space) ? label.substr(space.size()) : label;
    };
    if (shown != ShownRuns::difference || slots.a.plain())
        return shown == ShownRuns::b ? of(slots.b, b) : of(slots.a, a);
    const std::string left = of(slots.a, a).value_or("–"), right = of(slots.b, b).value_or("–");
    return left == right ? left : left + " | " + right;
}

template <class Texts>
std::optional<std::string> label_in(const ViewSubject& s, Texts texts, Alignment SecondSubject::*slots,
                                    std::int64_t slot) {
    if (!s.second) return slot_label({}, texts(s.tokens), {}, ShownRuns::a, slot, s.spaces_shown);
    return slot_label((*s.second).*slots, texts(s.tokens), texts(s.second->tokens), s.state.shown, slot,
                      s.spaces_shown);
}

std::string table_csv(const ViewSubject& s, const std::string& run) {
    std::string text = run.empty() ? "query,token" : "run,query,token";
    for (std::int64_t c = 0; c < s.cells.columns; ++c)
        text += "," + in_quotes_csv(count_text(s.cells.first_column + (c << s.cells.level)) + " " + s.column_label(c));
    text += "\n";
    for (std::int64_t r = 0; r < s.cells.rows; ++r) {
        if (!run.empty()) text += in_quotes_csv(run) + ",";
        text += count_text(s.cells.first_row + (r << s.cells.level)) + "," + in_quotes_csv(s.row_label(r));
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            text += "," + (s.hidden(r, c) ? "" : number_text(s.at(r, c)));
        text += "\n";
    }
    return text;
}

}  // namespace

std::string base64(std::string_view bytes) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned word = 0;
        for (std::size_t j = 0; j < 3; ++j)
            word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : letters[word >> (18 - 6 * j) & 63u];
    }
    return text;
}

bool ViewSubject::hidden(std::int64_t row, std::int64_t column) const {
    const std::int64_t size = std::int64_t{1} << cells.level, first_row = cells.first_row + row * size,
                       first_column = cells.first_column + column * size, last = std::min(first_row + size, rows) - 1;
    if (causal && first_column > last) return true;
    if (!causal && !second && state.axis == KeyAxis::relative &&
        (first_column + size <= first_row || first_column > last + columns - rows))
        return true;  // no key is that far from any of these queries
    if (!second) return false;
    if (state.shown != ShownRuns::a && second->cells.rows == 0) return true;
    return is_gap(second->rows, state.shown, first_row, size) ||
           (state.axis == KeyAxis::absolute && is_gap(second->keys, state.shown, first_column, size));
}

float ViewSubject::value(std::int64_t row, std::int64_t column, CellPooling pooling) const {
    const auto of = [&](const MapCells& map) {
        return vantage::at(pooling == CellPooling::mass ? map.mass : map.peak, row * map.columns + column);
    };
    if (!second || state.shown == ShownRuns::a || state.shown == ShownRuns::both) return of(cells);
    return state.shown == ShownRuns::b ? of(second->cells) : of(second->cells) - of(cells);
}

std::vector<ViewSubject> ViewSubject::parts() const {
    if (!second || state.shown != ShownRuns::both) return {*this};
    return {as_shown(ShownRuns::a), as_shown(ShownRuns::b)};
}

ViewSubject ViewSubject::as_shown(ShownRuns shown) const {
    ViewSubject part = *this;
    part.state.shown = shown;
    double& end = part.state.difference_max;
    if (!part.difference() || end > 0) return part;
    constexpr double smallest = 1e-6;
    end = smallest;
    for (std::int64_t r = 0; r < cells.rows; ++r)
        for (std::int64_t c = 0; c < cells.columns; ++c)
            if (!part.hidden(r, c)) end = std::max(end, static_cast<double>(std::abs(part.at(r, c))));
    return part;
}

bool ViewSubject::has_positions() const {
    const bool plain = !second || (second->rows.a.plain() && second->rows.b.plain() && second->keys.a.plain() &&
                                   second->keys.b.plain());
    return plain && !tokens.seen;
}

ViewSubject ViewSubject::with_plain_labels() const {
    ViewSubject plain = *this;
    const auto split = [](const LiveTokens& t) {
        WordPieces pieces;
        for (const std::string& text : t.texts) pieces.add(text);
        return pieces.found();
    };
    plain.spaces_shown = split(tokens) || (second && split(second->tokens));
    return plain;
}

std::string ViewSubject::part_name() const {
    if (!second) return "";
    const std::string &a = second->name_a, &b = second->name_b;
    switch (state.shown) {
        case ShownRuns::both: return a + "; " + b;
        case ShownRuns::a: return a;
        case ShownRuns::b: return b;
        case ShownRuns::difference: return "B − A of " + a + "; " + b;
    }
    return "";
}

std::string ViewSubject::row_label(std::int64_t row) const {
    const std::int64_t size = std::int64_t{1} << cells.level;
    const auto texts = [&](const LiveTokens& t) -> const std::vector<std::string>& {
        return head.kind == AttentionKind::encoder ? t.source_texts : t.texts;
    };
    const std::int64_t first = cells.first_row + row * size;
    return span_label([&](std::int64_t i) { return label_in(*this, texts, &SecondSubject::rows, i); }, first,
                      std::min(first + size, rows));
}

std::string ViewSubject::column_label(std::int64_t column) const {
    const std::int64_t size = std::int64_t{1} << cells.level, first = cells.first_column + column * size;
    if (state.axis == KeyAxis::relative) {
        const std::int64_t distance = first - (causal ? 0 : columns - rows);  // below 0: after the query
        return size > 1 ? count_text(distance) + " … " + count_text(distance + size - 1) : count_text(distance);
    }
    const auto texts = [&](const LiveTokens& t) -> const std::vector<std::string>& {
        return head.kind == AttentionKind::self ? t.texts : t.source_texts;
    };
    return span_label([&](std::int64_t i) { return label_in(*this, texts, &SecondSubject::keys, i); }, first,
                      std::min(first + size, columns));
}

std::vector<ScaleTick> ViewSubject::ticks() const {
    if (!difference()) return bar_ticks(state.range, state.scale, state.modifiers);
    std::vector<ScaleTick> both;
    for (const ScaleTick& one : scale_ticks(static_cast<float>(state.difference_max), state.scale)) {
        if (one.value <= 0) {
            both.push_back({0, 0.5f, "0"});
            continue;
        }
        both.push_back({one.value, 0.5f + one.position / 2, "+" + one.text});
        both.push_back({-one.value, 0.5f - one.position / 2, "−" + one.text});
    }
    return both;
}

std::string ViewSubject::bar_title() const {
    return format("{}, {} scale", difference() ? "B − A" : unit_of(state.modifiers), name_of(state.scale));
}

ViewSubject subject_of(const LiveModel& live, ViewData& data, const FrameData& frame, const ViewState& state,
                       const HeadId& head) {
    ViewSubject subject{.model = live.model().info(),
                        .device = live.model().device().caps().name,
                        .state = state,
                        .head = head,
                        .version = frame.version,
                        .rows = frame.rows,
                        .columns = frame.columns,
                        .causal = frame.causal,
                        .row_sum_error = frame.row_sum_error};
    const std::optional<TensorType>& keys = live.source(head.layer, head.kind).k.type;
    subject.precision = keys ? name_of(keys->dtype) : "";
    live.read_tokens(subject.tokens);
    subject.cells = data.read_cells();
    subject.state.head = head;
    return subject;
}

std::vector<std::pair<std::string, std::string>> facts_of(const ViewSubject& s) {
    const ViewState& v = s.state;
    const char* whose = s.head.kind == AttentionKind::self      ? "self-attention"
                        : s.head.kind == AttentionKind::encoder ? "encoder self-attention"
                                                                : "cross-attention";
    std::vector<std::pair<std::string, std::string>> facts{
        {"Title", "Attention of head " + name_of(s.head) + " of " + s.model.name},
        {"Software", "Vantage"},
        {"Vantage-Model", s.model.name + " (" + s.model.architecture + ")"},
        {"Vantage-Device", s.device},
        {"Vantage-Cache", s.precision},
        {"Vantage-Attention", whose},
        {"Vantage-Layer", count_text(s.head.layer)},
        {"Vantage-Head", count_text(s.head.head)},
        {"Vantage-Rows", count_text(s.rows)},
        {"Vantage-Part", format("queries from {}, columns from {}, {} × {} cells", s.cells.first_row,
                                s.cells.first_column, s.cells.rows, s.cells.columns)},
        {"Vantage-Cell", format("{} × {} weights", 1LL << s.cells.level, 1LL << s.cells.level)},
        {"Vantage-Pooling",
         v.pooling == CellPooling::mass ? "sum: sum over keys, mean over queries" : "max: largest weight"},
        {"Vantage-Axis", std::string(name_of(v.axis)) + (v.axis == KeyAxis::relative ? " (distances)" : " (keys)")},
        {"Vantage-Modifiers", modifiers_text(v.modifiers)},
        {"Vantage-Scale", format("{}, {:g} to {:g}", name_of(v.scale), v.range.min, v.range.max)},
        {"Vantage-Row-Sum-Error",
         s.row_sum_error ? format("{:.2g}", *s.row_sum_error) : "unknown, or the head has a learned sink"}};
    if (s.training_step) facts.emplace_back("Vantage-Training-Step", count_text(*s.training_step));
    if (s.second) {
        facts.emplace_back("Vantage-Compared", text_of(v.compared.value_or(Compared())));
        facts.emplace_back("Vantage-Shown", s.part_name());
        facts.emplace_back("Vantage-Difference-Scale",
                           format("{}, −{:g} to {:g}", name_of(v.scale), v.difference_max, v.difference_max));
        facts.emplace_back("Vantage-Distance",
                           format("{:.6g}: half the sum of |B − A| over the keys, mean over the rows of the whole map",
                                  s.second->distance));
    }
    if (s.command.empty()) return facts;
    facts.emplace_back("Vantage-Seed", std::to_string(v.sampling.seed));
    facts.emplace_back("Vantage-Temperature", format("{:g}", v.sampling.temperature));
    facts.emplace_back(v.image.empty() ? "Vantage-Prompt" : "Vantage-Image", v.image.empty() ? v.prompt : v.image);
    facts.emplace_back("Vantage-Command", s.command);
    return facts;
}

std::string caption_of(const ViewSubject& s) {
    const ViewState& v = s.state;
    std::string text = s.model.name + " · layer " + count_text(s.head.layer) + " · head " + count_text(s.head.head);
    if (s.head.kind != AttentionKind::self)
        text += s.head.kind == AttentionKind::encoder ? " of the encoder" : " of cross-attention";
    if (s.second) text += " · " + s.part_name();
    text += std::string(" · ") + name_of(v.scale) + " scale ";
    if (v.range.min > 0 && !s.difference()) text += format("from {:g} ", v.range.min);
    text += s.difference() ? format("to ±{:g} · ", v.difference_max) : format("to {:g} · ", v.range.max);
    text += name_of(v.pooling);
    if (s.cells.level > 0) text += format(" of {} × {} weights", 1LL << s.cells.level, 1LL << s.cells.level);
    if (v.modifiers.any()) text += " · " + modifiers_text(v.modifiers);
    if (v.axis == KeyAxis::relative) text += " · relative positions";
    return s.command.empty() ? text : text + " · seed " + std::to_string(v.sampling.seed);
}

std::string as_csv(const ViewSubject& s) {
    std::string text;
    for (const auto& [key, value] : facts_of(s)) text += "# " + key + ": " + without_controls(value) + "\n";
    for (const ViewSubject& part : s.parts())
        text += table_csv(part, !s.second           ? ""
                                : part.difference() ? "B − A"
                                                    : std::string(part.state.shown == ShownRuns::b ? "B" : "A"));
    return text;
}

std::string as_json(const ViewSubject& s) {
    nlohmann::json all{{"facts", facts_json(s)},
                       {"model", s.model.name},
                       {"layer", s.head.layer},
                       {"head", s.head.head},
                       {"level", s.cells.level},
                       {"first_query", s.cells.first_row},
                       {"first_column", s.cells.first_column},
                       {"columns_are", s.state.axis == KeyAxis::relative ? "distances" : "keys"},
                       {"tokens", s.tokens.texts},
                       {"ids", s.tokens.ids}};
    if (!s.command.empty()) all["seed"] = s.state.sampling.seed;
    const auto add_tables = [](nlohmann::json& to, const ViewSubject& part) {
        to["mass"] = table_of(part, CellPooling::mass), to["peak"] = table_of(part, CellPooling::peak);
    };
    if (s.second) {  // all of it: rows and columns are slots then
        all["shown"] = name_of(s.state.shown);
        all["tokens_b"] = s.second->tokens.texts, all["ids_b"] = s.second->tokens.ids;
        for (const ShownRuns shown : {ShownRuns::a, ShownRuns::b, ShownRuns::difference}) {
            const ViewSubject part = s.as_shown(shown);
            add_tables(all[name_of(shown)], part);
            all[name_of(shown)]["name"] = part.part_name();
        }
    } else {
        add_tables(all, s);
    }
    return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string as_npy(const ViewSubject& s) {
    const std::vector<ViewSubject> parts = s.parts();
    std::vector<float> values;
    for (const ViewSubject& part : parts)
        for (std::int64_t r = 0; r < s.cells.rows; ++r)
            for (std::int64_t c = 0; c < s.cells.columns; ++c)
                values.push_back(s.second && part.hidden(r, c) ? std::numeric_limits<float>::quiet_NaN()
                                                               : part.at(r, c));
    const Shape shape =
        parts.size() > 1 ? Shape{2, s.cells.rows, s.cells.columns} : Shape{s.cells.rows, s.cells.columns};
    return npy_file(shape, values);
}

using Form = std::string (*)(const ViewSubject&);
static Form form_of(const std::string& path) {
    constexpr std::pair<const char*, Form> forms[] = {
        {".svg", as_svg}, {".html", as_html}, {".csv", as_csv}, {".json", as_json}, {".npy", as_npy}};
    for (const auto& [ending, form] : forms)
        if (path.ends_with(ending)) return form;
    throw usage_error("{}: a view is written as .svg, .html, .csv, .json or .npy", path);
}

void require_view_format(const std::string& path) { static_cast<void>(form_of(path)); }

void write_view(const std::string& path, const ViewSubject& subject) {
    const Form form = form_of(path);
    write_file(path, form(subject));
    if (form == as_npy) write_file(path + ".json", facts_json(subject).dump(1) + "\n");
}

}  // namespace vantage::view
