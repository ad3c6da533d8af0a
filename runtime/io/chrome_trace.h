// A timeline for chrome://tracing and ui.perfetto.dev: what ran when, on the host and on the device.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Details shown when a span is clicked: a name with a number or a text.
using TraceValue = std::variant<std::int64_t, double, std::string>;
using TraceArguments = std::vector<std::pair<std::string, TraceValue>>;

/// Collects spans. Thread-safe. Tracks are shown in the order of their first span.
class ChromeTrace {
public:
    explicit ChromeTrace(std::string process = "vantage") : process_(std::move(process)) {}

    /// Times in microseconds since any common origin.
    void span(const std::string& track, const std::string& name, double start_us, double duration_us,
              TraceArguments arguments = {});
    /// A value over time, drawn as a curve.
    void counter(const std::string& name, double at_us, double value);

    std::string text() const;  ///< JSON, one event per line
    /// Replaces the file atomically. Throws bad_file.
    void write(const std::string& path) const;

private:
    struct Event {
        std::size_t track = 0;
        std::string name;
        double start_us = 0, duration_us = 0;  ///< a duration below 0 marks a counter
        TraceArguments arguments;
    };

    std::string process_;
    mutable std::mutex mutex_;
    std::vector<std::string> tracks_;
    std::vector<Event> events_;
};

}  // namespace vantage::internal
