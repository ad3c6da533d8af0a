#include "runtime/bench/report_table.h"

#include <algorithm>

#include "runtime/picture/shown_text.h"

namespace vantage::internal {

namespace {

struct TableCell {
    std::string text;
    bool number = false;
};

std::string table_text(const std::string& text) {
    std::string shown = without_controls(text);
    for (std::size_t at = 0; (at = shown.find('|', at)) != std::string::npos; at += 2) shown.insert(at, "\\");
    return shown;
}

TableCell table_cell(const Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) return {table_text(*text)};
    if (const auto* flag = std::get_if<bool>(&cell)) return {*flag ? "yes" : "no"};
    if (const auto* number = std::get_if<std::int64_t>(&cell)) return {std::to_string(*number), true};
    if (const auto* number = std::get_if<double>(&cell)) return {short_number(*number), true};
    if (const auto* s = std::get_if<Spread>(&cell))
        return {short_number(s->value) + " ± " + short_number(s->spread), true};
    return {"", true};
}

// A column of the table. Columns of numbers are right-aligned.
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
            if (entry.shown == ShowIn::data_only) continue;
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

// The line above the table: device and build.
std::string heading(const Json& environment) {
    const Json &program = environment.at("program"), &device = environment.at("device");
    const auto text = [](const Json& object, const char* name) { return object.at(name).get<std::string>(); };
    return without_controls(text(device, "name") + ", " + text(device, "driver") + " " +
                            text(device, "driver_version")) +
           "; vantage " + text(program, "version") + " (" + text(program, "commit") + ")\n\n";
}

}  // namespace

std::string report_table(const Report& report) {
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

}  // namespace vantage::internal
