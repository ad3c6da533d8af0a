#include "cli/device/tune_report.h"

#include <algorithm>

#include "cli/shared/output.h"
#include "cli/shared/text_table.h"

namespace vantage::cli {

namespace {

std::string time_text(double seconds) {
    return seconds < 1e-3 ? format("{:.1f} µs", seconds * 1e6) : format("{:.2f} ms", seconds * 1e3);
}

double median_of(const TunedResult& result, const Kernel* kernel) {
    const auto found = result.times.find(kernel);
    return found == result.times.end() ? 0 : found->second.median;
}

/// Kernel time of the measured calls of a plan, with the choices before and now.
struct PlanTime {
    double before = 0, now = 0;
};
std::map<std::int64_t, PlanTime> plan_times(const TuneReport& report) {
    std::map<std::int64_t, PlanTime> plans;
    for (const TunedModelCall& call : report.calls) {
        if (!call.result || call.result->times.empty()) continue;
        for (const auto& [rows, times] : call.model.times) {
            const double before = median_of(*call.result, call.before),
                         now = median_of(*call.result, call.result->chosen);
            plans[rows].before += times * (before > 0 ? before : now);
            plans[rows].now += times * now;
        }
    }
    return plans;
}

std::size_t measured_calls(const TuneReport& report) {
    return static_cast<std::size_t>(std::ranges::count_if(report.calls, [](const TunedModelCall& c) {
        return c.result && !c.result->entry.kernel.empty();  // without, no kernel could run
    }));
}

Json call_json(const TunedModelCall& call) {
    Json kernels = Json::object(), times = Json::object();
    for (const auto& [kernel, m] : call.result->times)
        kernels[kernel->name] = {{"median_us", 1e6 * m.median}, {"deviation_us", 1e6 * m.deviation},
                                 {"least_us", 1e6 * m.min},     {"most_us", 1e6 * m.max},
                                 {"samples", m.samples.size()}, {"device_clock", m.device_clock}};
    for (const auto& [rows, count] : call.model.times) times[std::to_string(rows)] = count;
    Json entry = {
        {"key", call.model.key}, {"times_by_rows", times}, {"kernels", kernels}, {"notes", call.result->notes}};
    entry["before"] = call.before->name;
    if (call.result->chosen != nullptr) entry["chosen"] = call.result->chosen->name;
    return entry;
}

}  // namespace

void print_text(const TuneReport& report) {
    TextTable table("lllrrr");
    table.row({"call", "before", "now", "before", "now", "less"});
    std::size_t changes = 0;
    for (const TunedModelCall& call : report.calls) {
        if (!call.result || call.result->chosen == nullptr || call.result->chosen == call.before) continue;
        ++changes;
        const double before = median_of(*call.result, call.before), now = median_of(*call.result, call.result->chosen);
        table.row({call.model.key, call.before->name, call.result->chosen->name, before > 0 ? time_text(before) : "-",
                   time_text(now), before > 0 ? format("{:.0f} %", 100 * (1 - now / before)) : "-"});
    }
    print_line("{} on {} ({}), {} tokens in the cache: {} of {} calls measured, another kernel is faster for {}",
               report.model, report.device.name, report.device.driver_version, report.context, measured_calls(report),
               report.calls.size(), changes);
    if (changes > 0) std::fputs(table.text().c_str(), stdout);
    for (const auto& [rows, time] : plan_times(report))
        print_line("  time of these calls in a run of {} {}: {} before, {} now", rows, rows == 1 ? "token" : "tokens",
                   time_text(time.before), time_text(time.now));
    if (measured_calls(report) < report.calls.size())
        print_line("not all calls were measured within the time limit; use a larger --seconds");
    if (!report.path.empty()) print_line("saved in {}", report.path);
}

void print_json(const TuneReport& report) {
    Json calls = Json::array();
    for (const TunedModelCall& call : report.calls)
        if (call.result) calls.push_back(call_json(call));
    const auto plan = [](const auto& one) {
        const auto& [rows, time] = one;
        return Json{{"rows", rows}, {"before_ms", 1e3 * time.before}, {"now_ms", 1e3 * time.now}};
    };
    write_json({{"schema_version", 1},
                {"model", report.model},
                {"device", report.device.name},
                {"driver", report.device.driver_version},
                {"uuid", report.device.uuid},
                {"context", report.context},
                {"complete", measured_calls(report) == report.calls.size()},
                {"calls", calls},
                {"plans", json_list(plan_times(report), plan)},
                {"path", report.path}});
}

void print_tables(const Caps& caps, bool as_json) {
    const TuningTable own = own_tuning(caps);
    TuningTable all = installed_tuning(caps);
    const std::size_t installed = all.calls.size();
    all.merge(own);
    if (as_json) {
        std::fputs(tuning_to_json({TunedDevice::of(caps), all}).c_str(), stdout);
        return;
    }
    print_line("{} calls measured on this machine ({}), {} from installed tables", own.calls.size(),
               own_tuning_path(caps), installed);
    TextTable table("lllr");
    if (!all.calls.empty()) table.row({"call", "kernel", "measured", "time"});
    for (const auto& [key, call] : all.calls) {
        const auto time = call.seconds.find(call.kernel);
        const bool timed = time != call.seconds.end() && time->second;
        table.row({key, call.kernel, own.calls.count(key) > 0 ? "here" : "installed",
                   timed ? time_text(*time->second) : "-"});
    }
    std::fputs(table.text().c_str(), stdout);
}

}  // namespace vantage::cli
