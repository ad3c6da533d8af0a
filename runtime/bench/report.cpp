#include "runtime/bench/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/version.h"
#include "runtime/bench/report_table.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {

namespace {

std::string date_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// Keys in the order in which they are added.
using OrderedJson = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
    if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
    if (const auto* number = std::get_if<double>(&cell)) return number_or_null(*number);
    if (const auto* spread = std::get_if<Spread>(&cell)) return number_or_null(spread->value);
    return nullptr;
}

void add_data(OrderedJson& object, const ReportRow& row) {
    for (const ReportRow::Entry& entry : row.entries()) {
        object[entry.name] = json_of(entry.value);
        if (const auto* spread = std::get_if<Spread>(&entry.value))
            object[entry.name + "_spread"] = number_or_null(spread->spread);
    }
}

// A line of CSV and JSON lines: the environment and a row.
OrderedJson line_of(const Report& report, const ReportRow& row) {
    const Json &program = report.environment.at("program"), &device = report.environment.at("device");
    OrderedJson line = OrderedJson::object();
    for (const char* name : {"schema_version", "kind", "date"}) line[name] = report.environment.at(name);
    for (const char* name : {"version", "commit"}) line[name] = program.at(name);
    line["device"] = device.at("name");
    for (const char* name : {"driver", "driver_version", "uuid"}) line[name] = device.at(name);
    add_data(line, row);
    return line;
}

std::string dump(const OrderedJson& json, int indent) {
    return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string json_text(const Report& report) {
    OrderedJson object = OrderedJson::object();
    for (const char* name : {"schema_version", "kind", "date", "program", "device"})
        object[name] = report.environment.at(name);
    for (const auto& [name, value] : report.environment.items())
        if (!object.contains(name)) object[name] = value;
    object["rows"] = OrderedJson::array();
    for (const ReportRow& row : report.rows) add_data(object["rows"].emplace_back(OrderedJson::object()), row);
    object["notes"] = report.notes;
    return dump(object, 2) + "\n";
}

std::string json_lines(const Report& report) {
    std::string text;
    for (const ReportRow& row : report.rows) text += dump(line_of(report, row), -1) + "\n";
    return text;
}

// RFC 4180: fields with a comma, a quote or a line end are quoted; quotes inside are doubled.
std::string csv_field(const OrderedJson& value) {
    if (value.is_null()) return "";
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

// With the columns of all rows, in the order of their first occurrence.
std::string csv_text(const Report& report) {
    std::vector<OrderedJson> lines;
    std::vector<std::string> columns;
    for (const ReportRow& row : report.rows)
        for (const auto& [name, value] : lines.emplace_back(line_of(report, row)).items())
            if (std::ranges::count(columns, name) == 0) columns.push_back(name);
    std::string text = join(columns, ",", csv_field) + "\n";
    for (const OrderedJson& line : lines) {
        const auto field = [&](const std::string& name) { return csv_field(line.value(name, OrderedJson())); };
        text += join(columns, ",", field) + "\n";
    }
    return text;
}

}  // namespace

Spread mean_of(std::span<const double> samples) {
    const auto count = static_cast<double>(samples.size());
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    return {mean, samples.size() < min_samples_for_spread ? std::nan("") : std::sqrt(squares / (count - 1))};
}

bool differ(const Spread& a, const Spread& b, double sigmas) {
    constexpr double min_share = 0.02, deviations = 3;
    const double difference = std::abs(a.value - b.value);
    return difference > min_share * std::min(std::abs(a.value), std::abs(b.value)) &&
           difference > deviations * sigmas * std::hypot(a.spread, b.spread);
}

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

Json bench_environment(const std::string& kind, Json device) {
    const BuildFacts& build = build_facts();
    return {{"schema_version", Report::schema_version},
            {"kind", kind},
            {"date", date_now()},
            {"program",
             {{"version", build.version},
              {"commit", build.commit},
              {"compiler", build.compiler},
              {"glslang", build.glslang}}},
            {"device", std::move(device)}};
}
Json bench_environment(const std::string& kind, const Caps& caps) {
    return bench_environment(kind, Json::parse(caps_to_json(caps)));
}

ReportFormat report_format(const std::string& word) {
    const std::pair<const char*, ReportFormat> known[] = {{"md", ReportFormat::md},
                                                          {"csv", ReportFormat::csv},
                                                          {"json", ReportFormat::json},
                                                          {"jsonl", ReportFormat::jsonl}};
    for (const auto& [name, as] : known)
        if (word == name) return as;
    throw usage_error("-o " + in_quotes(word) + ": expected md, csv, json or jsonl");
}

std::string report_text(const Report& report, ReportFormat as) {
    switch (as) {
        case ReportFormat::csv: return csv_text(report);
        case ReportFormat::json: return json_text(report);
        case ReportFormat::jsonl: return json_lines(report);
        case ReportFormat::md: break;
    }
    return report_table(report);
}

void write_report(const Report& report, ReportFormat as, const std::string& path) {
    const std::string text = report_text(report, as);
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
    if (before_point == 0 && size > 0 && size < 1e-3) return format("{:.2g}", value);
    return without_trailing_zeros(format("{:.{}f}", value, std::clamp(digits - before_point, 0, 3)));
}

}  // namespace vantage::internal
