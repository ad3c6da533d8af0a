// --profile FILE: a Chrome/Perfetto trace of the device's dispatches and of what the host did meanwhile.
#pragma once

#include <memory>
#include <string>

#include "runtime/io/chrome_trace.h"
#include "vantage/session.h"

namespace vantage::cli {

class ProfileWriter {
public:
    /// An empty path records nothing.
    explicit ProfileWriter(std::string path) : path_(std::move(path)) {}
    explicit operator bool() const { return !path_.empty(); }

    /// Notes how long the returned object lives as a span on the host's track.
    class Span {
    public:
        Span(ProfileWriter& writer, std::string name);
        ~Span();
        Span(const Span&) = delete;
        Span& operator=(const Span&) = delete;

    private:
        ProfileWriter& writer_;
        std::string name_;
        double begin_us_;
    };
    [[nodiscard]] Span span(const std::string& name) { return {*this, name}; }
    /// What `work` returns, timed as a span.
    template <class Work>
    auto timed(const std::string& name, const Work& work) {
        const Span noted = span(name);
        return work();
    }

    /// The session's first dispatch is about to be submitted: device and host have clocks of their own, and are laid together here.
    void device_begins();
    /// Adds what the session or batch dispatched, and writes the file.
    void write(const Device& device, const std::vector<DispatchTiming>& timings);

private:
    std::string path_;
    ChromeTrace trace_;
    double first_host_us_ = -1;
    double device_begin_us_ = 0;
};

}  // namespace vantage::cli
