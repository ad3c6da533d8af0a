// Named spans of time on the host, for --profile and vantage bench. Without a listener a span costs one load.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Who works during a span: the program, or the driver while the program waits for it.
enum class Worker : std::uint8_t { program, driver };

struct HostSpan {
    std::string name;
    Worker worker = Worker::program;
    int thread = 0;             ///< numbered by their first spans, from 0
    double begin = 0, end = 0;  ///< of seconds_now()
};

/// From now on `listener` is called at the end of every span, in the thread of the span. An empty function ends this.
/// Must not be called while a span is open.
void listen_to_spans(std::function<void(const HostSpan&)> listener);

/// A span from construction to destruction. Spans of a thread can be nested.
class TraceSpan : NotCopied {
public:
    explicit TraceSpan(const char* name, Worker worker = Worker::program);
    ~TraceSpan();

private:
    const char* name_;  // null without a listener
    Worker worker_;
    double begin_ = 0;
};

/// Calls `work` inside a span, and returns its result.
template <class Work>
auto timed(const char* name, const Work& work) {
    const TraceSpan noted(name);
    return work();
}

}  // namespace vantage::internal
