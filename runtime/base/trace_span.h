// What the host does, as named stretches of time, for whoever listens (--profile, vantage bench). Without a listener a span costs
// one load.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vantage {

/// Whose work a stretch is: the program's own, or the driver's, which the program waits for.
enum class Worker : std::uint8_t { program, driver };

struct HostSpan {
    std::string name;
    Worker worker = Worker::program;
    int thread = 0;             ///< 0 for the first that had a span
    double begin = 0, end = 0;  ///< as seconds_now()
};

/// Called at the end of every span, from the thread that had it; an empty function ends it. Not to be changed while spans are
/// open.
void listen_to_spans(std::function<void(const HostSpan&)> listener);

/// A span as long as the object lives. Spans of a thread may hold others.
class TraceSpan {
public:
    explicit TraceSpan(const char* name, Worker worker = Worker::program);
    ~TraceSpan();
    TraceSpan(const TraceSpan&) = delete;
    TraceSpan& operator=(const TraceSpan&) = delete;

private:
    const char* name_;  // null when nobody listens
    Worker worker_;
    double begin_ = 0;
};

/// What `work` returns, timed as a span.
template <class Work>
auto timed(const char* name, const Work& work) {
    const TraceSpan noted(name);
    return work();
}

}  // namespace vantage
