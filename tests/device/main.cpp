// The device tests' main: an error message of the validation layer fails the run, and names the test that caused it.
#include <unistd.h>

#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/gpu/faults.h"
#include "vantage/device.h"

namespace {

constexpr std::uint64_t max_pipelines = 1500;  // of a device, over all tests or a share of them
int reported = 0;

void report(const char* where) {
    const int now = vantage::Device::validation_errors();
    if (now > reported) std::fprintf(stderr, "validation layer: %d error messages %s\n", now - reported, where);
    reported = now;
}

/// Runs last of all exit handlers, when the devices are closed too.
void after_devices_are_closed() {
    report("while the devices were closed");
    std::fflush(nullptr);
    if (reported > 0) ::_exit(1);
}

class ValidationListener : public Catch::EventListenerBase {
public:
    using Catch::EventListenerBase::EventListenerBase;
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        report(("in test '" + stats.testInfo->name + "'").c_str());
    }
    void testCaseStarting(const Catch::TestCaseInfo& test) override { name_ = test.name; }
    /// A process with a damaged heap would wait for ever while Catch2 writes its report.
    void fatalErrorEncountered(Catch::StringRef error) override {
        const std::string_view cause(error.data(), error.size());
        if (cause.find("SIGTERM") != cause.npos) return;  // by the limit of time
        constexpr int aborted = 134;
        for (const std::string_view part : {std::string_view("\nended by "), cause, std::string_view(" in test '"),
                                            std::string_view(name_), std::string_view("'\n")})
            static_cast<void>(!::write(STDERR_FILENO, part.data(), part.size()));
        ::_exit(aborted);
    }

private:
    std::string name_;
};

}  // namespace

CATCH_REGISTER_LISTENER(ValidationListener)

int main(int argc, char** argv) {
    std::atexit(after_devices_are_closed);
    // Every plan of the tests has red zones, and an arena full of NaN before each run.
    ::setenv("VANTAGE_GUARD", "1", 0);
    ::setenv("VANTAGE_CACHE_DIR", VANTAGE_TEST_CACHE, 0);  // not the user's, which may hold tuning tables
    const int code = Catch::Session().run(argc, argv);
    // Compiling takes most of the time on a software device: a new case is worth its pipelines, or takes sizes that are
    // there.
    const std::uint64_t pipelines = vantage::gpu::call_counts().pipelines;
    std::printf("%llu of at most %llu pipelines\n", static_cast<unsigned long long>(pipelines),
                static_cast<unsigned long long>(max_pipelines));
    return code == 0 && (reported > 0 || pipelines > max_pipelines) ? 1 : code;
}
