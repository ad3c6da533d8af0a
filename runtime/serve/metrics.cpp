#include "runtime/serve/metrics.h"

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/base/version.h"
#include "runtime/serve/served_model.h"

namespace vantage::serve {

using namespace internal;

namespace {

std::string escaped(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text;
}

std::string head_of(const std::string& name, const char* type, const std::string& help) {
    return format("# HELP vantage_{} {}\n# TYPE vantage_{} {}\n", name, help, name, type);
}

template <class Number>
std::string single(const std::string& name, const char* type, const std::string& help, Number value,
                   const std::string& labels = {}) {
    return head_of(name, type, help) + format("vantage_{}{} {}\n", name, labels, value);
}

}  // namespace

void Histogram::add(double value) {
    ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
    std::string lines = head_of(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        below += counts_[i];
        const std::string bound = i < bounds_.size() ? format("{:g}", bounds_[i]) : std::string("+Inf");
        lines += format("vantage_{}_bucket{{le=\"{}\"}} {}\n", name, bound, below);
    }
    return lines + format("vantage_{}_sum {:.17g}\nvantage_{}_count {}\n", name, sum_, name, below);
}

void Metrics::note_request(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    ++requests_[{path, status}];
}
void Metrics::note_first_token(double seconds) {
    const std::lock_guard lock(mutex_);
    first_token_.add(seconds);
}
void Metrics::note_gap(double seconds) {
    const std::lock_guard lock(mutex_);
    gap_.add(seconds);
}
void Metrics::note_end(double seconds) {
    const std::lock_guard lock(mutex_);
    request_.add(seconds);
}

std::string Metrics::text(const ServedModel* model) const {
    std::string page = single(
        "build_info", "gauge", "The program; always 1.", 1,
        format("{{version=\"{}\",commit=\"{}\"}}", escaped(build_facts().version), escaped(build_facts().commit)));
    {
        const std::lock_guard lock(mutex_);
        page += head_of("requests_total", "counter", "Answered requests.");
        for (const auto& [key, count] : requests_)
            page +=
                format("vantage_requests_total{{path=\"{}\",code=\"{}\"}} {}\n", escaped(key.first), key.second, count);
        page += first_token_.text("time_to_first_token_seconds", "From a request to its first token.");
        page += gap_.text("token_gap_seconds", "Between two tokens of a generation.");
        page += request_.text("request_seconds", "From a request for text to its end.");
    }
    if (model == nullptr) return page;
    const SchedulerCounts counts = model->scheduler.counts();
    page += single("requests_running", "gauge", "Generations that have a slot.", counts.running);
    page += single("requests_waiting", "gauge", "Generations that wait for a slot.", counts.waiting);
    page += single("slots", "gauge", "Generations that can run at once.", model->scheduler.slots());
    page += head_of("prompt_tokens_total", "counter", "Tokens of prompts, run or reused.");
    page += format("vantage_prompt_tokens_total{{from=\"run\"}} {}\nvantage_prompt_tokens_total{{from=\"cache\"}} {}\n",
                   counts.prompt_run, counts.prompt_cached);
    page += single("generated_tokens_total", "counter", "Tokens that were drawn.", counts.generated);
    page += single("cancelled_total", "counter", "Generations whose client went away.", counts.cancelled);
    page += single("rejected_total", "counter", "Requests that found the queue full or closed.", counts.rejected);
    page += single("device_lost_total", "counter", "Losses of the device.", counts.losses);
    return page;
}

}  // namespace vantage::serve
