// What `vantage bench` prints: the environment, and rows of named values, as a table, CSV, JSON or JSON lines.
//
//     Report report("ops", device.caps());
//     report.row().set("op", "matmul").set("time_us", Spread{812.4, 3.1}).set("flops", 2.7e8, Shown::data_only);
//     write_report(report, ReportFormat::md, "");
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/caps.h"

namespace vantage {

/// A measured value and how far repeats lie from it. The table has it as "812 ± 3"; data has the columns NAME and
/// NAME_spread.
struct Spread {
    double value = 0, spread = 0;
};
/// Mean and standard deviation of samples; no spread (NaN) of fewer than three, which say nothing of noise.
Spread mean_of(std::span<const double> samples);

/// Nothing where there is nothing to say: an empty cell in tables and CSV, null in JSON.
using Cell = std::variant<std::monostate, double, Spread, std::int64_t, bool, std::string>;

/// Whether the table for people has a value, too, or data only (CSV, JSON, JSON lines).
enum class Shown : std::uint8_t { everywhere, data_only };

/// Values by name, in the order in which they were set. Names carry their units: "time_us", "t_per_s", "load_cold_s".
class ReportRow {
public:
    struct Entry {
        std::string name;
        Cell value;
        Shown shown;
    };
    template <class Value>
    ReportRow& set(const std::string& name, Value value, Shown shown = Shown::everywhere) {
        if constexpr (std::integral<Value> && !std::same_as<Value, bool>)
            return put({name, static_cast<std::int64_t>(value), shown});
        else
            return put({name, Cell(std::move(value)), shown});
    }
    ReportRow& set(const std::string& name, const char* text, Shown shown = Shown::everywhere) {
        return put({name, std::string(text), shown});
    }
    const std::vector<Entry>& entries() const { return entries_; }
    /// The number or the text of this name; 0 and "" where there is none.
    double number(const std::string& name) const;
    std::string text(const std::string& name) const;

private:
    ReportRow& put(Entry entry);  ///< in the place of an entry of the same name, else at the end
    std::vector<Entry> entries_;
};

/// What all benchmarks say of where they ran: schema_version, the program's build, the device with its limits, the date.
Json bench_environment(const std::string& kind, const Caps& caps);

class Report {
public:
    static constexpr int schema_version = 1;

    /// `kind`: "ops", "model", "roofs".
    Report(const std::string& kind, const Caps& caps) : environment(bench_environment(kind, caps)) {}

    /// A new row at the end; the reference stays good.
    ReportRow& row() { return rows.emplace_back(); }
    /// A line that the table has below it; JSON has all of them as "notes".
    void note(std::string text) { notes.push_back(std::move(text)); }

    Json environment;
    std::deque<ReportRow> rows;
    std::vector<std::string> notes;
};

enum class ReportFormat : std::uint8_t { md, csv, json, jsonl };
/// "md", "csv", "json" or "jsonl"; throws usage for another word.
ReportFormat report_format(const std::string& word);

std::string report_text(const Report& report, ReportFormat format);
/// The same as report_text(report, ReportFormat::md).
std::string report_table(const Report& report);
/// To stdout, or with a path to that file (written beside it, then renamed).
void write_report(const Report& report, ReportFormat format, const std::string& path);

/// A number as people read it: four digits that count, no exponent, no needless zeros.
std::string short_number(double value);

}  // namespace vantage
