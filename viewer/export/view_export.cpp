// What files say of themselves, and the forms that are tables: CSV, JSON, NumPy's.
#include "viewer/export/view_export.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/base/utf8.h"
#include "runtime/io/shown_text.h"

namespace vantage::view {

namespace {

std::string count_text(std::int64_t number) { return std::to_string(number); }

/// The tokens of a cell: the first, and the last where there are several.
std::string span_label(const std::vector<std::string>& texts, std::int64_t first, std::int64_t size) {
    const auto label = [&](std::int64_t i) {
        return i < std::ssize(texts) ? token_label(texts[static_cast<std::size_t>(i)]) : count_text(i);
    };
    const std::int64_t last = std::min(first + size, std::max<std::int64_t>(std::ssize(texts), first + 1)) - 1;
    return last > first ? label(first) + " … " + label(last) : label(first);
}

std::string modifiers_text(const Modifiers& m) {
    std::string text;
    const auto add = [&](bool on, const char* name) {
        if (on) text += (text.empty() ? "" : ", ") + std::string(name);
    };
    add(m.sink_off, "sink off, renormalised");
    add(m.value_weighted, "times the lengths of values");
    add(m.row_normalised, "rows by their largest");
    add(m.over_expected, "over the mean at that distance");
    return text.empty() ? "none" : text;
}

std::string in_quotes_csv(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' ? std::string("\"\"") : std::string(1, c);
    return all + "\"";
}

/// The shortest text that reads back as this number.
std::string number_text(float value) {
    return std::isfinite(value) ? format("%.9g", static_cast<double>(value)) : "nan";
}

nlohmann::json table_of(const ViewSubject& s, const std::vector<float>& values) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::int64_t r = 0; r < s.cells.rows; ++r) {
        nlohmann::json row = nlohmann::json::array();
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            if (s.hidden(r, c))
                row.push_back(nullptr);
            else
                row.push_back(values[static_cast<std::size_t>(r * s.cells.columns + c)]);
        rows.push_back(std::move(row));
    }
    return rows;
}

nlohmann::json facts_json(const ViewSubject& s) {
    nlohmann::json facts;
    for (const auto& [key, value] : facts_of(s)) facts[key] = repair_utf8(value);
    return facts;
}

}  // namespace

bool ViewSubject::hidden(std::int64_t row, std::int64_t column) const {
    const std::int64_t size = std::int64_t{1} << cells.level,
                       last = std::min(cells.first_row + (row + 1) * size, rows) - 1;
    return causal && cells.first_column + column * size > last;
}

std::string ViewSubject::row_label(std::int64_t row) const {
    const std::int64_t size = std::int64_t{1} << cells.level;
    return span_label(head.of == AttentionOf::encoder ? tokens.source_texts : tokens.texts,
                      cells.first_row + row * size, size);
}

std::string ViewSubject::column_label(std::int64_t column) const {
    const std::int64_t size = std::int64_t{1} << cells.level, first = cells.first_column + column * size;
    if (state.axis == KeyAxis::relative)
        return size > 1 ? count_text(first) + " … " + count_text(first + size - 1) : count_text(first);
    return span_label(head.of == AttentionOf::self ? tokens.texts : tokens.source_texts, first, size);
}

ViewSubject subject_of(const LiveModel& live, ViewData& data, const FrameData& frame, const ViewState& state,
                       const HeadPlace& head) {
    ViewSubject subject{.model = live.model().info(),
                        .device = live.model().device().caps().name,
                        .state = state,
                        .head = head,
                        .version = frame.version,
                        .rows = frame.rows,
                        .columns = frame.columns,
                        .causal = frame.causal,
                        .row_sum_error = frame.row_sum_error.value_or(0)};
    const std::optional<TensorType>& keys = live.source(head.layer, head.of).k.type;
    subject.precision = keys ? name_of(keys->dtype) : "";
    live.read_tokens(subject.tokens);
    subject.cells = data.read_cells();
    subject.state.head = head;
    return subject;
}

std::vector<std::pair<std::string, std::string>> facts_of(const ViewSubject& s) {
    const ViewState& v = s.state;
    const char* whose = s.head.of == AttentionOf::self      ? "the model's own"
                        : s.head.of == AttentionOf::encoder ? "the encoder's"
                                                            : "the decoder's of the encoder's tokens";
    return {
        {"Title", "Attention of head " + name_of(s.head) + " of " + s.model.name},
        {"Software", "Vantage"},
        {"Vantage-Model", s.model.name + " (" + s.model.architecture + ")"},
        {"Vantage-Device", s.device},
        {"Vantage-Cache", s.precision},
        {"Vantage-Attention", whose},
        {"Vantage-Layer", count_text(s.head.layer)},
        {"Vantage-Head", count_text(s.head.head)},
        {"Vantage-Rows", count_text(s.rows)},
        {"Vantage-Part", format("queries from %lld, columns from %lld, %lld × %lld cells",
                                static_cast<long long>(s.cells.first_row), static_cast<long long>(s.cells.first_column),
                                static_cast<long long>(s.cells.rows), static_cast<long long>(s.cells.columns))},
        {"Vantage-Cell", format("%lld × %lld weights", 1LL << s.cells.level, 1LL << s.cells.level)},
        {"Vantage-Pooling",
         v.pooling == Pooling::mass ? "mass: sum over keys, mean over queries" : "peak: the largest"},
        {"Vantage-Axis", std::string(name_of(v.axis)) + (v.axis == KeyAxis::relative ? " (distances)" : " (keys)")},
        {"Vantage-Modifiers", modifiers_text(v.modifiers)},
        {"Vantage-Scale", format("%s, %g to %g", name_of(v.scale), v.range.min, v.range.max)},
        {"Vantage-Seed", std::to_string(v.sampling.seed)},
        {"Vantage-Temperature", format("%g", v.sampling.temperature)},
        v.image.empty() ? std::pair<std::string, std::string>{"Vantage-Prompt", v.prompt}
                        : std::pair<std::string, std::string>{"Vantage-Image", v.image},
        {"Vantage-Row-Sum-Error", format("%.2g", s.row_sum_error)},
        {"Vantage-Command", "vantage view --headless " + as_command_line(v)}};
}

std::string caption_of(const ViewSubject& s) {
    const ViewState& v = s.state;
    std::string text = s.model.name + " · layer " + count_text(s.head.layer) + " · head " + count_text(s.head.head);
    if (s.head.of != AttentionOf::self)
        text += s.head.of == AttentionOf::encoder ? " of the encoder" : " of cross attention";
    text += std::string(" · ") + name_of(v.scale) + " scale ";
    if (v.range.min > 0) text += format("from %g ", v.range.min);
    text += format("to %g · %s", v.range.max, name_of(v.pooling));
    if (s.cells.level > 0) text += format(" of %lld × %lld weights", 1LL << s.cells.level, 1LL << s.cells.level);
    if (v.modifiers.any()) text += " · " + modifiers_text(v.modifiers);
    if (v.axis == KeyAxis::relative) text += " · by distance";
    return text + " · seed " + std::to_string(v.sampling.seed);
}

std::string as_csv(const ViewSubject& s) {
    std::string text;
    for (const auto& [key, value] : facts_of(s)) text += "# " + key + ": " + without_controls(value) + "\n";
    text += "query,token";
    for (std::int64_t c = 0; c < s.cells.columns; ++c)
        text += "," + in_quotes_csv(count_text(s.cells.first_column + (c << s.cells.level)) + " " + s.column_label(c));
    text += "\n";
    for (std::int64_t r = 0; r < s.cells.rows; ++r) {
        text += count_text(s.cells.first_row + (r << s.cells.level)) + "," + in_quotes_csv(s.row_label(r));
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            text += "," + (s.hidden(r, c) ? "" : number_text(s.at(r, c)));
        text += "\n";
    }
    return text;
}

std::string as_json(const ViewSubject& s) {
    nlohmann::json all{{"facts", facts_json(s)},
                       {"model", s.model.name},
                       {"layer", s.head.layer},
                       {"head", s.head.head},
                       {"seed", s.state.sampling.seed},
                       {"level", s.cells.level},
                       {"first_query", s.cells.first_row},
                       {"first_column", s.cells.first_column},
                       {"columns_are", s.state.axis == KeyAxis::relative ? "distances" : "keys"},
                       {"tokens", s.tokens.texts},
                       {"ids", s.tokens.ids},
                       {"mass", table_of(s, s.cells.mass)},
                       {"peak", table_of(s, s.cells.peak)}};
    return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: the header ends at a multiple of 64 bytes.
std::string as_npy(const ViewSubject& s) {
    std::string header = format("{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                                static_cast<long long>(s.cells.rows), static_cast<long long>(s.cells.columns));
    constexpr std::size_t before = 10;
    while ((before + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    file += header;
    for (const float value : s.values())
        for (int byte = 0; byte < 4; ++byte)
            file += static_cast<char>(std::bit_cast<std::uint32_t>(value) >> (8 * byte) & 0xff);
    return file;
}

void write_view(const std::string& path, const ViewSubject& subject) {
    using Form = std::string (*)(const ViewSubject&);
    constexpr std::pair<const char*, Form> forms[] = {
        {".svg", as_svg}, {".html", as_html}, {".csv", as_csv}, {".json", as_json}, {".npy", as_npy}};
    for (const auto& [ending, form] : forms) {
        if (!path.ends_with(ending)) continue;
        write_file(path, form(subject));
        if (form == as_npy) write_file(path + ".json", facts_json(subject).dump(1) + "\n");
        return;
    }
    throw Error(ErrorKind::usage, path + ": a view is written as .svg, .html, .csv, .json or .npy");
}

}  // namespace vantage::view
