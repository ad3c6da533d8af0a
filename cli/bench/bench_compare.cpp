// vantage bench compare: what became faster or slower between two reports.
#include <cmath>
#include <memory>

#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/text_table.h"
#include "runtime/base/log.h"
#include "runtime/bench/compare_reports.h"

namespace vantage::cli {

namespace {

struct CompareOptions {
    std::string before, after;
    bool all = false, any_device = false, json = false;
};

const char* word_for(ReportChange::Verdict verdict) {
    return verdict == ReportChange::faster ? "faster" : verdict == ReportChange::slower ? "SLOWER" : "same";
}

std::string with_deviation(const Spread& m) { return short_number(m.value) + " ± " + short_number(m.spread); }

void print_table(const ReportComparison& comparison, bool all) {
    TextTable table("llrrrl");
    table.row({"", "figure", "before", "after", "speed", ""});
    for (const ReportChange& c : comparison.changes)
        if (all || c.verdict != ReportChange::same)
            table.row({c.row, c.figure, with_deviation(c.before), with_deviation(c.after),
                       std::isinf(c.speed) ? "∞" : format("{:.2f}x", c.speed), word_for(c.verdict)});
    if (all || comparison.count(ReportChange::same) < comparison.changes.size())
        std::fputs(table.text(0).c_str(), stdout);
    for (const std::string& row : comparison.only_before) print_line("only before: {}", row);
    for (const std::string& row : comparison.only_after) print_line("only after: {}", row);
    print_line("{} faster, {} slower, {} the same", comparison.count(ReportChange::faster),
               comparison.count(ReportChange::slower), comparison.count(ReportChange::same));
}

Json change_json(const ReportChange& c) {
    return {{"row", c.row},
            {"figure", c.figure},
            {"before", c.before.value},
            {"before_spread", c.before.spread},
            {"after", c.after.value},
            {"after_spread", c.after.spread},
            {"speed", number_or_null(c.speed)},
            {"verdict", word_for(c.verdict)}};
}

void print_json(const ReportComparison& comparison) {
    write_json({{"schema_version", Report::schema_version},
                {"kind", "compare"},
                {"changes", json_list(comparison.changes, change_json)},
                {"only_before", comparison.only_before},
                {"only_after", comparison.only_after},
                {"warnings", comparison.warnings}});
}

void run(const CompareOptions& o) {
    const Json before = read_json(o.before), after = read_json(o.after);
    const ReportComparison comparison = compare_reports(before, o.before, after, o.after, o.any_device);
    for (const std::string& warning : comparison.warnings) log(LogLevel::warning, "{}", warning);
    o.json ? print_json(comparison) : print_table(comparison, o.all);
    if (comparison.count(ReportChange::slower) > 0) set_exit_code(exit_code(ErrorKind::failure));
}

}  // namespace

void add_bench_compare(CLI::App& bench) {
    auto o = std::make_shared<CompareOptions>();
    CLI::App& command = add_command(
        bench, "compare", "Compare two reports: what became faster or slower",
        "Both files are output of `vantage bench ops -o json`, or both of `bench model` or `bench train`. A figure has "
        "changed if its two values differ by more than 2 % and by more than three standard deviations of their "
        "difference.\n"
        "Exit code 1 if something became slower, 2 if there is nothing to compare.\n"
        "Example: vantage bench compare before.json after.json");
    command.add_option("before", o->before, "Report of the first run")->required()->type_name("A.json");
    command.add_option("after", o->after, "Report of the second run")->required()->type_name("B.json");
    command.add_flag("--all", o->all, "Also print what did not change");
    command.add_flag("--any-device", o->any_device, "Compare reports of different devices");
    command.add_flag("--json", o->json, "Print one JSON object with all figures of both reports");
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
