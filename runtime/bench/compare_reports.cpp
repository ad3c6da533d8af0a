#include "runtime/bench/compare_reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/utf8.h"
#include "runtime/graph/kernel_names.h"

namespace vantage::internal {

namespace {

// Texts that are results, not the identity of a row; and the kernel, whose name is added apart.
constexpr std::array not_names{"chosen", "note", "bound", "operands", "kernel"};

std::string row_name(const Json& row) {
    // the columns that benchmarks put first come first; Json sorts the keys of an object
    std::string name;
    const auto add = [&](const std::string& text) { name += (name.empty() || text.empty() ? "" : " ") + text; };
    const auto text_of = [&](const std::string& column) {
        return row.contains(column) && row[column].is_string() ? row[column].get<std::string>() : std::string();
    };
    constexpr std::array default_columns{"op", "model", "test", "case", "types"};
    for (const char* column : default_columns) add(text_of(column));
    add(current_kernel_name(text_of("op"), text_of("kernel")));  // older reports have older names
    for (const auto& [column, value] : row.items())
        if (value.is_string() && std::ranges::count(default_columns, column) == 0 &&
            std::ranges::count(not_names, column) == 0)
            add(value);
    return name;
}

using Figures = std::map<std::string, Spread>;

Figures figures_of(const Json& row) {
    Figures figures;
    for (const auto& [column, value] : row.items()) {
        const std::string spread = column + "_spread";
        if (value.is_number() && row.contains(spread) && row[spread].is_number())
            figures[escape_controls(column)] = {value.get<double>(), row[spread].get<double>()};
    }
    return figures;
}

/// A report of a file. Its names may be a stranger's, and are shown.
struct ParsedReport {
    std::string kind, device, uuid, driver;
    std::vector<std::pair<std::string, Figures>> rows;

    ParsedReport(const Json& json, const std::string& name) {
        const JsonFields fields(json, name);
        fields.integer("schema_version", Report::schema_version, Report::schema_version);
        kind = escape_controls(fields.text("kind"));
        const JsonFields of = fields.object("device");
        device = escape_controls(of.text("name"));
        uuid = of.text("uuid");
        driver = escape_controls(of.text("driver") + " " + of.text("driver_version"));
        for (std::size_t i = 0; i < fields.list("rows").size(); ++i) {
            throw_if_interrupted();
            const JsonFields row = fields.element("rows", i);
            if (Figures figures = figures_of(row.json()); !figures.empty())
                add(escape_controls(row_name(row.json())), std::move(figures));
        }
    }
    // Rows of one name are distinguished by their order.
    void add(const std::string& name, Figures figures) {
        std::string text = name;
        for (int& n = rows_of_name[name]; !places.emplace(text, rows.size()).second;)
            text = name + " #" + std::to_string(n = std::max(n + 1, 2));
        rows.emplace_back(std::move(text), std::move(figures));
    }
    const Figures* find(const std::string& row) const {
        const auto found = places.find(row);
        return found == places.end() ? nullptr : &rows[found->second].second;
    }
    std::map<std::string, std::size_t> places;  // in `rows`, by name
    std::map<std::string, int> rows_of_name;
};

ReportChange change_of(const std::string& row, const std::string& figure, const Spread& before, const Spread& after,
                       double sigmas) {
    ReportChange change{.row = row, .figure = figure, .before = before, .after = after};
    const bool rate = figure.ends_with("per_s") || figure.starts_with("gflops");  // larger is better
    const double numerator = rate ? after.value : before.value, denominator = rate ? before.value : after.value;
    change.speed = denominator > 0 ? numerator / denominator : numerator > 0 ? INFINITY : 1;
    if (differ(before, after, sigmas)) change.verdict = change.speed > 1 ? ReportChange::faster : ReportChange::slower;
    return change;
}

}  // namespace

std::size_t ReportComparison::count(ReportChange::Verdict verdict) const {
    return static_cast<std::size_t>(std::ranges::count(changes, verdict, &ReportChange::verdict));
}

ReportComparison compare_reports(const Json& before_json, const std::string& before_name, const Json& after_json,
                                 const std::string& after_name, bool any_device) {
    const ParsedReport before(before_json, before_name), after(after_json, after_name);
    if (before.kind != after.kind)
        throw usage_error(before_name + " is a report of bench " + before.kind + ", but " + after_name + " of bench " +
                          after.kind + ": nothing to compare");
    ReportComparison result;
    if (before.device != after.device || before.uuid != after.uuid) {
        const std::string text =
            before_name + " was measured on " + before.device + ", " + after_name + " on " + after.device;
        if (!any_device) throw usage_error(text + "; compare them with --any-device");
        result.warnings.push_back(text);
    } else if (before.driver != after.driver) {
        result.warnings.push_back("the driver was " + before.driver + " and is " + after.driver);
    }
    // figures of bench model and bench train are means (mean_of), others medians
    const bool means = before.kind == "model" || before.kind == "train";
    const double sigmas = means ? of_standard_deviation : of_median_deviation;
    for (const auto& [name, figures] : before.rows) {
        const Figures* now = after.find(name);
        if (now == nullptr) {
            result.only_before.push_back(name);
            continue;
        }
        for (const auto& [figure, value] : figures)
            if (const auto found = now->find(figure); found != now->end())
                result.changes.push_back(change_of(name, figure, value, found->second, sigmas));
    }
    for (const auto& [name, figures] : after.rows)
        if (before.find(name) == nullptr) result.only_after.push_back(name);
    if (result.changes.empty())
        throw usage_error(before_name + " and " + after_name +
                          ": nothing to compare: no row of both has a figure with a spread (which needs "
                          "three samples)");
    return result;
}

}  // namespace vantage::internal
