#include "profile.h"

#include "runtime/base/log.h"
#include "runtime/base/os.h"

namespace vantage::cli {

namespace {
double now_us() { return 1e6 * seconds_now(); }
}  // namespace

ProfileWriter::Span::Span(ProfileWriter& writer, std::string name)
    : writer_(writer), name_(std::move(name)), begin_us_(now_us()) {
    if (writer_.first_host_us_ < 0) writer_.first_host_us_ = begin_us_;
}

ProfileWriter::Span::~Span() {
    if (writer_) writer_.trace_.span("host", name_, begin_us_ - writer_.first_host_us_, now_us() - begin_us_);
}

void ProfileWriter::device_begins() {
    if (first_host_us_ < 0) first_host_us_ = now_us();
    device_begin_us_ = now_us() - first_host_us_;
}

void ProfileWriter::write(const Device& device, const std::vector<DispatchTiming>& timings) {
    if (path_.empty()) return;
    if (timings.empty())
        log(LogLevel::warning, "%s has no timestamps: the trace shows the host only", device.caps().name.c_str());
    for (const DispatchTiming& t : timings)
        trace_.span(device.caps().name, t.label,
                    device_begin_us_ + static_cast<double>(t.begin_ns - timings.front().begin_ns) / 1e3,
                    static_cast<double>(t.end_ns - t.begin_ns) / 1e3);
    trace_.write(path_);
    log(LogLevel::info, "profile: %zu dispatches in %s", timings.size(), path_.c_str());
}

}  // namespace vantage::cli
