#include "cli/shared/profile.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "cli/shared/commands.h"
#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/trace_span.h"
#include "runtime/bench/op_profile.h"
#include "runtime/io/chrome_trace.h"

namespace vantage::cli {

namespace {

struct Profile {
    double begin = 0;  // start of the trace, on the host clock
    std::mutex mutex;
    std::vector<HostSpan> spans;
    std::optional<Caps> device;  // not a Device, which would outlive the driver's static objects
    std::vector<DispatchTiming> dispatches;
};

Profile& profile() {
    static Profile one;
    return one;
}

void write_trace(const std::string& path) {
    const Profile& p = profile();
    ChromeTrace trace;
    const auto add = [&](const std::string& track, const std::string& name, double begin, double end,
                         TraceArguments facts) {
        trace.span(track, name, 1e6 * (begin - p.begin), 1e6 * (end - begin), std::move(facts));
    };
    for (const HostSpan& span : p.spans)
        add(span.thread == 0 ? "host" : "host thread " + std::to_string(span.thread), span.name, span.begin, span.end,
            {{"in", span.worker == Worker::driver ? "driver" : "program"}});
    // Host and device have different clocks: the smallest shift with which no dispatch begins before its submission.
    double shift = std::numeric_limits<double>::lowest();
    for (const DispatchTiming& d : p.dispatches)
        shift = std::max(shift, d.submitted_seconds - static_cast<double>(d.begin_ns) / 1e9);
    for (const DispatchTiming& d : p.dispatches)
        add(p.device->name, d.label, shift + static_cast<double>(d.begin_ns) / 1e9,
            shift + static_cast<double>(d.end_ns) / 1e9,
            {{"flops", d.flops}, {"bytes_read", d.bytes_read}, {"bytes_written", d.bytes_written}});
    trace.write(path);
    log(LogLevel::info, "profile: {} dispatches in {}", p.dispatches.size(), path);
}

void print_table() {
    const Profile& p = profile();
    std::optional<Roofs> roofs;
    if (p.device) roofs = load_roofs(*p.device, roofs_path(*p.device, cache_directory()));
    std::fputs(profile_table(time_by_op(p.dispatches), roofs).c_str(), stderr);
}

}  // namespace

bool profiling() { return !common().profile.empty(); }

void begin_profile() {
    if (!profiling()) return;
    profile().begin = seconds_now();
    listen_to_spans([](const HostSpan& span) {
        const std::lock_guard lock(profile().mutex);
        profile().spans.push_back(span);
    });
}

void note_dispatches(const Device& device, const std::vector<DispatchTiming>& timings) {
    if (!profiling()) return;
    Profile& p = profile();
    p.device = device.caps();
    p.dispatches.insert(p.dispatches.end(), timings.begin(), timings.end());
}

void write_profile() {
    if (!profiling()) return;
    listen_to_spans({});
    if (const Profile& p = profile(); p.dispatches.empty())
        log(LogLevel::warning, "the profile contains only the host: {}",
            p.device ? p.device->name + " does not support timestamps" : "what ran on the device has no times");
    common().profile == "-" ? print_table() : write_trace(common().profile);
}

}  // namespace vantage::cli
