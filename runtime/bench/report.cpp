#include "runtime/bench/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>

#include "runtime/base/choose.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/base/version.h"
#include "runtime/io/shown_text.h"

namespace vantage {

namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
    using Visitors::operator()...;
};

std::string date_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// JSON has no infinity and no NaN.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

using Pairs = std::vector<std::pair<std::string, Json>>;

void append_data(Pairs& pairs, const ReportRow::Entry& entry) {
    const auto add = [&](const std::string& name, Json value) { pairs.emplace_back(name, std::move(value)); };
    std::visit(Overloaded{[&](std::monostate) { add(entry.name, nullptr); },
                          [&](double value) { add(entry.name, number_or_null(value)); },
                          [&](const Spread& s) {
                              add(entry.name, number_or_null(s.value));
                              add(entry.name + "_spread", number_or_null(s.spread));
                          },
                          [&](const auto& value) { add(entry.name, value); }},
               entry.value);
}

Pairs data_of_row(const ReportRow& row) {
    Pairs pairs;
    for (const ReportRow::Entry& entry : row.entries()) append_data(pairs, entry);
    return pairs;
}

// What each line of CSV and of JSON lines says of where it was measured.
Pairs environment_pairs(const Json& environment) {
    const Json &program = environment.at("program"), &device = environment.at("device");
    return {{"schema_version", environment.at("schema_version")},
            {"kind", environment.at("kind")},
            {"date", environment.at("date")},
            {"version", program.at("version")},
            {"commit", program.at("commit")},
            {"device", device.at("name")},
            {"driver", device.at("driver")},
            {"driver_version", device.at("driver_version")},
            {"uuid", device.at("uuid")}};
}

using OrderedJson = nlohmann::ordered_json;

OrderedJson ordered(const Pairs& pairs) {
    OrderedJson object = OrderedJson::object();
    for (const auto& [name, value] : pairs) object[name] = value;
    return object;
}

std::string dump(const OrderedJson& json, int indent) {
    return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string json_text(const Report& report) {
    OrderedJson object;
    for (const char* name : {"schema_version", "kind", "date", "program", "device"})
        object[name] = report.environment.at(name);
    for (const auto& [name, value] : report.environment.items())
        if (!object.contains(name)) object[name] = value;
    object["rows"] = OrderedJson::array();
    for (const ReportRow& row : report.rows) object["rows"].push_back(ordered(data_of_row(row)));
    object["notes"] = report.notes;
    return dump(object, 2) + "\n";
}

std::string json_lines(const Report& report) {
    std::string text;
    for (const ReportRow& row : report.rows) {
        Pairs pairs = environment_pairs(report.environment);
        const Pairs own = data_of_row(row);
        pairs.insert(pairs.end(), own.begin(), own.end());
        text += dump(ordered(pairs), -1) + "\n";
    }
    return text;
}

// RFC 4180: quotes around what holds a comma, a quote or an end of line; quotes inside are doubled.
std::string csv_field(const Json& value) {
    if (value.is_null()) return "";
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + fields[i];
    return line + "\n";
}

// Every column that any row has, where it first comes.
std::vector<std::string> columns_of(const std::vector<Pairs>& rows) {
    std::vector<std::string> columns;
    for (const Pairs& row : rows)
        for (const auto& [name, value] : row)
            if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    return columns;
}

std::string csv_text(const Report& report) {
    std::vector<Pairs> rows;
    for (const ReportRow& row : report.rows) {
        rows.push_back(environment_pairs(report.environment));
        const Pairs own = data_of_row(row);
        rows.back().insert(rows.back().end(), own.begin(), own.end());
    }
    const std::vector<std::string> columns = columns_of(rows);
    std::vector<std::string> names;
    for (const std::string& column : columns) names.push_back(csv_field(column));
    std::string text = csv_line(names);
    for (const Pairs& row : rows) {
        std::vector<std::string> fields;
        for (const std::string& column : columns) {
            const auto found = std::ranges::find(row, column, &Pairs::value_type::first);
            fields.push_back(found == row.end() ? "" : csv_field(found->second));
        }
        text += csv_line(fields);
    }
    return text;
}

struct TableCell {
    std::string text;
    bool number = false;
};

TableCell table_cell(const Cell& cell) {
    return std::visit(Overloaded{[](std::monostate) {
                                     return TableCell{"", true};
                                 },
                                 [](double value) {
                                     return TableCell{short_number(value), true};
                                 },
                                 [](const Spread& s) {
                                     return TableCell{short_number(s.value) + " ± " + short_number(s.spread), true};
                                 },
                                 [](std::int64_t value) {
                                     return TableCell{std::to_string(value), true};
                                 },
                                 [](bool value) { return TableCell{value ? "yes" : "no"}; },
                                 [](const std::string& text) {
                                     std::string shown = without_controls(text);
                                     for (std::size_t at = 0; (at = shown.find('|', at)) != std::string::npos; at += 2)
                                         shown.insert(at, "\\");
                                     return TableCell{std::move(shown)};
                                 }},
                      cell);
}

// One column of the table: heading, cells, width; right-aligned when it holds numbers only.
struct Column {
    std::string name;
    std::vector<std::string> cells;
    bool numbers = true;
    std::size_t width() const {
        const auto columns = [](const std::string& text) { return static_cast<std::size_t>(column_width(text)); };
        std::size_t widest = std::max<std::size_t>(columns(name), 3);
        for (const std::string& cell : cells) widest = std::max(widest, columns(cell));
        return widest;
    }
};

std::vector<Column> table_columns(const Report& report) {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < report.rows.size(); ++i)
        for (const ReportRow::Entry& entry : report.rows[i].entries()) {
            if (entry.shown == Shown::data_only) continue;
            auto column = std::ranges::find(columns, entry.name, &Column::name);
            if (column == columns.end())
                column = columns.insert(columns.end(), Column{.name = entry.name, .cells = {}});
            column->cells.resize(report.rows.size());
            TableCell cell = table_cell(entry.value);
            column->numbers &= cell.number;
            column->cells[i] = std::move(cell.text);
        }
    return columns;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::string space(width - std::min(width, static_cast<std::size_t>(column_width(text))), ' ');
    return right ? space + text : text + space;
}

// What the tables have above them: which device and which build.
std::string heading(const Json& environment) {
    const Json &program = environment.at("program"), &device = environment.at("device");
    const auto text = [](const Json& object, const char* name) { return object.at(name).get<std::string>(); };
    return without_controls(text(device, "name") + ", " + text(device, "driver") + " " +
                            text(device, "driver_version")) +
           "; vantage " + text(program, "version") + " (" + text(program, "commit") + ")\n\n";
}

std::string table_text(const Report& report) {
    const std::vector<Column> columns = table_columns(report);
    std::vector<std::size_t> widths;
    std::string head = "|", rule = "|", body;
    for (const Column& column : columns) {
        widths.push_back(column.width());
        head += " " + padded(column.name, widths.back(), column.numbers) + " |";
        rule += column.numbers ? " " + std::string(widths.back() - 1, '-') + ": |"
                               : " " + std::string(widths.back(), '-') + " |";
    }
    for (std::size_t row = 0; row < report.rows.size(); ++row) {
        body += "|";
        for (std::size_t i = 0; i < columns.size(); ++i)
            body += " " + padded(columns[i].cells[row], widths[i], columns[i].numbers) + " |";
        body += "\n";
    }
    std::string text = heading(report.environment);
    if (!columns.empty()) text += head + "\n" + rule + "\n" + body;
    for (std::size_t i = 0; i < report.notes.size(); ++i) text += (i == 0 ? "\n" : "") + report.notes[i] + "\n";
    return text;
}

}  // namespace

ReportRow& ReportRow::put(Entry entry) {
    const auto found = std::ranges::find(entries_, entry.name, &Entry::name);
    if (found == entries_.end())
        entries_.push_back(std::move(entry));
    else
        *found = std::move(entry);
    return *this;
}

double ReportRow::number(const std::string& name) const {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    if (found == entries_.end()) return 0;
    if (const auto* value = std::get_if<double>(&found->value)) return *value;
    if (const auto* value = std::get_if<Spread>(&found->value)) return value->value;
    if (const auto* value = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*value);
    return 0;
}

std::string ReportRow::text(const std::string& name) const {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    const auto* value = found == entries_.end() ? nullptr : std::get_if<std::string>(&found->value);
    return value == nullptr ? "" : *value;
}

Json bench_environment(const std::string& kind, const Caps& caps) {
    const BuildFacts& build = build_facts();
    return {{"schema_version", Report::schema_version},
            {"kind", kind},
            {"date", date_now()},
            {"program",
             {{"version", build.version},
              {"commit", build.commit},
              {"compiler", build.compiler},
              {"glslang", build.glslang}}},
            {"device", Json::parse(caps_to_json(caps))}};  // name, driver, driver_version, uuid and the limits
}

ReportFormat report_format(const std::string& word) {
    const std::pair<const char*, ReportFormat> known[] = {{"md", ReportFormat::md},
                                                          {"csv", ReportFormat::csv},
                                                          {"json", ReportFormat::json},
                                                          {"jsonl", ReportFormat::jsonl}};
    for (const auto& [name, format] : known)
        if (word == name) return format;
    throw Error(ErrorKind::usage, "-o " + in_quotes(word) + ": wanted md, csv, json or jsonl");
}

std::string report_text(const Report& report, ReportFormat format) {
    switch (format) {
        case ReportFormat::csv: return csv_text(report);
        case ReportFormat::json: return json_text(report);
        case ReportFormat::jsonl: return json_lines(report);
        case ReportFormat::md: break;
    }
    return table_text(report);
}

void write_report(const Report& report, ReportFormat format, const std::string& path) {
    const std::string text = report_text(report, format);
    if (path.empty())
        std::fwrite(text.data(), 1, text.size(), stdout);
    else
        write_file(path, text);
}

std::string short_number(double value) {
    if (!std::isfinite(value)) return "-";
    constexpr int digits = 4;
    const double size = std::abs(value);
    const int before_point = size < 1 ? 0 : static_cast<int>(std::floor(std::log10(size))) + 1;
    if (before_point == 0 && size > 0 && size < 1e-3) return format("%.2g", value);
    std::string text = format("%.*f", std::clamp(digits - before_point, 0, 3), value);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

}  // namespace vantage
