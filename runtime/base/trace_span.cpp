#include "runtime/base/trace_span.h"

#include <atomic>

#include "runtime/base/clock.h"

namespace vantage::internal {

namespace {

std::function<void(const HostSpan&)> span_listener;
std::atomic<bool> listened_to{false};
std::atomic<int> threads_with_spans{0};

int this_thread() {
    thread_local const int number = threads_with_spans++;
    return number;
}

}  // namespace

void listen_to_spans(std::function<void(const HostSpan&)> listener) {
    listened_to = false;
    span_listener = std::move(listener);
    listened_to = static_cast<bool>(span_listener);
}

TraceSpan::TraceSpan(const char* name, Worker worker) : name_(listened_to ? name : nullptr), worker_(worker) {
    if (name_ == nullptr) return;
    this_thread();  // numbers the thread
    begin_ = seconds_now();
}

TraceSpan::~TraceSpan() {
    if (name_ != nullptr && listened_to) span_listener({name_, worker_, this_thread(), begin_, seconds_now()});
}

}  // namespace vantage::internal
