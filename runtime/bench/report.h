// runtime/bench measures models and kernels, and compares reports, for `vantage bench` (cli/bench is its command line).
// A report: the environment and rows of named values, printed as a table, CSV, JSON or JSON lines.
//
//     Report report("ops", device.caps());
//     report.row().set("op", "matmul").set("time_us", Spread{812.4, 3.1}).set("flops", 2.7e8, ShowIn::data_only);
//     write_report(report, ReportFormat::md, "");
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// A measured value and the spread of its repeats. In tables: "812 ± 3". In data: columns NAME and NAME_spread.
struct Spread {
    double value = 0, spread = 0;
};
constexpr std::size_t min_samples_for_spread = 3;  ///< fewer samples say nothing about noise
/// Mean and standard deviation. The spread of fewer samples than `min_samples_for_spread` is NaN.
Spread mean_of(std::span<const double> samples);

/// Standard deviations (of normally distributed noise) per unit of spread: of a median absolute deviation, and of a
/// standard deviation.
constexpr double of_median_deviation = 1.4826, of_standard_deviation = 1;
/// The rule by which two figures differ, for `bench ops` (faster kernels) and `bench compare`: by more than 2 % and by
/// more than three standard deviations of their difference. A spread equals `sigmas` standard deviations.
bool differ(const Spread& a, const Spread& b, double sigmas = of_median_deviation);

/// monostate: an empty cell in tables and CSV, null in JSON.
using Cell = std::variant<std::monostate, double, Spread, std::int64_t, bool, std::string>;

/// Whether a value is in all outputs or in data only (CSV, JSON, JSON lines), not in the table.
enum class ShowIn : std::uint8_t { everywhere, data_only };

/// Values by name, in the order of set(). Names end in their unit: "time_us", "t_per_s", "load_cold_s".
class ReportRow {
public:
    struct Entry {
        std::string name;
        Cell value;
        ShowIn shown;
    };
    template <class Value>
    ReportRow& set(const std::string& name, Value value, ShowIn shown = ShowIn::everywhere) {
        if constexpr (std::integral<Value> && !std::same_as<Value, bool>)
            return put({name, static_cast<std::int64_t>(value), shown});
        else
            return put({name, Cell(std::move(value)), shown});
    }
    const std::vector<Entry>& entries() const { return entries_; }
    /// The value by name; 0 or "" if there is none.
    double number(const std::string& name) const;
    std::string text(const std::string& name) const;

private:
    ReportRow& put(Entry entry);  ///< replaces an entry of the same name, else appends
    std::vector<Entry> entries_;
};

/// The environment of a benchmark: schema_version, build, device, date.
Json bench_environment(const std::string& kind, Json device);
/// The same with all limits of a device.
Json bench_environment(const std::string& kind, const Caps& caps);

class Report {
public:
    static constexpr int schema_version = 1;

    /// `kind`: "ops", "model", "train", "roofs", "serve".
    Report(const std::string& kind, const Caps& caps) : environment(bench_environment(kind, caps)) {}
    /// What is measured is elsewhere: `device` has "name", "driver", "driver_version" and "uuid".
    Report(const std::string& kind, Json device) : environment(bench_environment(kind, std::move(device))) {}

    /// Appends a row. The reference stays valid. From then on a signal ends the program only where work checks for it,
    /// so that the rows are written.
    ReportRow& row() {
        if (!unwritten_) unwritten_ = std::make_shared<EndDeferred>();
        return rows.emplace_back();
    }
    /// Adds a line below the table; "notes" in JSON.
    void note(std::string text) { notes.push_back(std::move(text)); }

    Json environment;
    std::deque<ReportRow> rows;
    std::vector<std::string> notes;

private:
    std::shared_ptr<EndDeferred> unwritten_;
};

enum class ReportFormat : std::uint8_t { md, csv, json, jsonl };
/// Parses "md", "csv", "json" or "jsonl". Throws usage for other words.
ReportFormat report_format(const std::string& word);

std::string report_text(const Report& report, ReportFormat as);
/// Writes to `path`, or to stdout if it is empty. The file is replaced atomically.
void write_report(const Report& report, ReportFormat as, const std::string& path);

/// A number with four significant digits, without exponent and trailing zeros.
std::string short_number(double value);

}  // namespace vantage::internal
