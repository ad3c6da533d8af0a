#include "cli/device/conform_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "cli/shared/terminal_page.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/options.h"

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

// JSON has no infinity, which is the error of a NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const Outcome& o) {
    Json object = {{"op", o.op},
                   {"case", o.test},
                   {"types", o.types},
                   {"kernel", o.kernel},
                   {"passed", o.passed()},
                   {"error", number(o.result.worst)},
                   {"allowed", number(o.result.allowed)}};
    if (!o.part.empty()) object["part"] = o.part;
    if (!o.passed()) object["message"] = o.result.message, object["rerun"] = o.rerun;
    return object;
}

}  // namespace

void ConformReport::add(Outcome outcome) {
    if (!as_json_ && (verbose_ || !outcome.passed())) print(outcome);
    outcomes_.push_back(std::move(outcome));
}

void ConformReport::print(const Outcome& o) const {
    std::printf("%s %-20s %-16s error %-9.3g allowed %-9.3g %s\n", verdict(o.passed()).c_str(), o.op.c_str(),
                o.kernel.c_str(), o.result.worst, o.result.allowed, case_text(o).c_str());
    if (!o.passed()) std::printf("  %s\n  rerun: %s\n", o.result.message.c_str(), o.rerun.c_str());
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

// One line per op and kernel, in the order of the runs, with the case that came closest to its tolerance.
void ConformReport::print_kernels() const {
    struct Line {
        const Outcome* worst;
        std::size_t runs = 0, failed = 0;
    };
    std::vector<std::pair<std::string, Line>> lines;
    for (const Outcome& o : outcomes_) {
        const std::string key = o.op + '\0' + o.kernel;
        auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == key; });
        if (line == lines.end()) line = lines.insert(lines.end(), {key, {&o}});
        if (ratio(o.result) > ratio(line->second.worst->result)) line->second.worst = &o;
        ++line->second.runs;
        if (!o.passed()) ++line->second.failed;
    }
    if (lines.empty()) return;
    std::printf("%-6s %-20s %-16s %5s  %-9s  %-9s  %s\n", "", "op", "kernel", "runs", "error", "allowed", "worst case");
    for (const auto& [key, line] : lines)
        std::printf("%s %-20s %-16s %5zu  %-9.3g  %-9.3g  %s\n", verdict(line.failed == 0).c_str(),
                    line.worst->op.c_str(), line.worst->kernel.c_str(), line.runs, line.worst->result.worst,
                    line.worst->result.allowed, case_text(*line.worst).c_str());
}

void ConformReport::print_not_supported() const {
    std::map<std::string, std::string> tests;  // by reason
    for (const NotSupported& n : not_supported_) tests[n.reason] += " " + n.test;
    if (!tests.empty()) std::printf("not supported:\n");
    for (const auto& [reason, names] : tests) std::printf("  %s:%s\n", reason.c_str(), names.c_str());
}

void ConformReport::print_json(const Totals& t) const {
    Json results = Json::array(), missing = Json::array();
    for (const Outcome& o : outcomes_) results.push_back(to_json(o));
    for (const NotSupported& n : not_supported_)
        missing.push_back({{"case", n.test}, {"reason", n.reason}, {"partly", n.partly}});
    const Json object = {{"schema_version", 1},       {"device", device_.caps().name}, {"passed", t.passed},
                         {"failed", t.failed},        {"not_built", t.not_supported},  {"results", results},
                         {"not_built_cases", missing}};
    std::printf("%s\n", object.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

bool ConformReport::finish() const {
    const Totals t = totals();
    if (as_json_) {
        print_json(t);
    } else {
        print_kernels();
        print_not_supported();
        std::printf("%zu passed, %zu failed, %zu not supported (cases; %zu kernel runs on %s)\n", t.passed, t.failed,
                    t.not_supported, outcomes_.size(), device_.caps().name.c_str());
    }
    return t.failed == 0;
}

}  // namespace vantage::cli
