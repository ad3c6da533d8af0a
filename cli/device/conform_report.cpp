#include "cli/device/conform_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/shared/terminal_page.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/utf8.h"

namespace vantage::cli {

namespace {
std::string verdict(bool passed) {
    const char* word = passed ? "ok" : "FAILED";
    if (!colour_wanted(Page::stdout_fd)) return format("{:<6}", word);
    return format("\033[{}m{:<6}\033[0m", passed ? 32 : 31, word);
}

std::string case_text(const Outcome& o) {
    return o.test + (o.part.empty() ? "" : ", " + o.part) + " (" + o.types + ")";
}

double ratio(const CaseResult& result) { return result.worst / std::max(result.allowed, 1e-300); }

Json outcome_json(const Outcome& o) {
    Json object = {{"op", o.op},
                   {"case", o.test},
                   {"types", o.types},
                   {"kernel", o.kernel},
                   {"passed", o.passed()},
                   {"error", number_or_null(o.result.worst)},
                   {"allowed", number_or_null(o.result.allowed)}};
    if (!o.part.empty()) object["part"] = o.part;
    if (!o.passed()) object["message"] = o.result.message, object["rerun"] = o.rerun;
    return object;
}

}  // namespace

void ConformReport::add(Outcome outcome) {
    for (std::string* text : {&outcome.op, &outcome.test, &outcome.part, &outcome.result.message, &outcome.rerun})
        *text = escape_controls(*text);  // names of a stranger's files
    if (!as_json_ && (verbose_ || !outcome.passed())) print(outcome);
    if (outcome.result.ran && !dump_.empty()) {
        write_dump(*outcome.result.ran, dump_);
        log(LogLevel::warning, "{} {}: wrote {}; `vantage replay` runs it again", outcome.op, outcome.kernel, dump_);
        dump_.clear();
    }
    outcome.result.ran.reset();
    outcomes_.push_back(std::move(outcome));
}

void ConformReport::print(const Outcome& o) const {
    print_line("{} {:<20} {:<16} error {:<9.3g} allowed {:<9.3g} {}", verdict(o.passed()), o.op, o.kernel,
               o.result.worst, o.result.allowed, case_text(o));
    if (!o.passed()) print_line("  {}\n  rerun: {}", o.result.message, o.rerun);
    std::fflush(stdout);
}

ConformReport::Totals ConformReport::totals() const {
    std::map<std::string, bool> good;  // by unit
    for (const Outcome& o : outcomes_) {
        bool& all = good.try_emplace(o.unit, true).first->second;
        all = all && o.passed();
    }
    Totals t;
    for (const auto& [test, all] : good) ++(all ? t.passed : t.failed);
    for (const NotSupported& n : not_supported_)
        if (!n.partly) ++t.not_supported;
    return t;
}

void ConformReport::add(NotSupported what) {
    what.test = escape_controls(what.test), what.reason = escape_controls(what.reason);
    not_supported_.push_back(std::move(what));
}

// One line per op and kernel, in the order of the runs, with the case that came closest to its tolerance.
void ConformReport::print_kernels() const {
    struct Line {
        const Outcome* worst;
        std::size_t runs = 0, failed = 0;
    };
    std::vector<Line> lines;
    for (const Outcome& o : outcomes_) {
        auto line = std::ranges::find_if(
            lines, [&](const Line& l) { return l.worst->op == o.op && l.worst->kernel == o.kernel; });
        if (line == lines.end()) line = lines.insert(lines.end(), Line{&o});
        if (ratio(o.result) > ratio(line->worst->result)) line->worst = &o;
        ++line->runs;
        if (!o.passed()) ++line->failed;
    }
    if (lines.empty()) return;
    print_line("{:<6} {:<20} {:<16} {:>5}  {:<9}  {:<9}  {}", "", "op", "kernel", "runs", "error", "allowed",
               "worst case");
    for (const Line& line : lines)
        print_line("{} {:<20} {:<16} {:5}  {:<9.3g}  {:<9.3g}  {}", verdict(line.failed == 0), line.worst->op,
                   line.worst->kernel, line.runs, line.worst->result.worst, line.worst->result.allowed,
                   case_text(*line.worst));
}

void ConformReport::print_not_supported() const {
    std::map<std::string, std::string> tests;  // by reason
    for (const NotSupported& n : not_supported_) tests[n.reason] += " " + n.test;
    if (!tests.empty()) print_line("not supported:");
    for (const auto& [reason, names] : tests) print_line("  {}:{}", reason, names);
}

Json ConformReport::json() const {
    const Totals t = totals();
    const auto missing = [](const NotSupported& n) {
        return Json{{"case", n.test}, {"reason", n.reason}, {"partly", n.partly}};
    };
    return {{"schema_version", 1},
            {"device", device_.caps().name},
            {"passed", t.passed},
            {"failed", t.failed},
            {"not_built", t.not_supported},
            {"results", json_list(outcomes_, outcome_json)},
            {"not_built_cases", json_list(not_supported_, missing)}};
}

bool ConformReport::finish() const {
    const Totals t = totals();
    if (as_json_) {
        write_json(json());
    } else {
        print_kernels();
        print_not_supported();
        print_line("{} passed, {} failed, {} not supported (cases; {} kernel runs on {})", t.passed, t.failed,
                   t.not_supported, outcomes_.size(), device_.caps().name);
    }
    return t.failed == 0;
}

}  // namespace vantage::cli
