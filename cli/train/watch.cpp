#include "cli/train/watch.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>

#include "cli/shared/report_error.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "viewer/data/training_snapshots.h"
#include "viewer/window/window.h"
#include "viewer/window/x11_errors.h"

namespace vantage::cli {

namespace {

/// The training in a thread of its own.
class Training {
public:
    explicit Training(const std::function<void()>& train)
        : end_(std::async(std::launch::async, [this, train] { run(train); })) {}
    bool failed() const { return code_ != 0; }
    void wait() const { end_.wait(); }
    /// Waits for the end. Throws what the training threw.
    void finish() const { end_.get(); }
    int code() const { return code_; }  ///< exit code for what it threw; 0 while it runs
    void say_if_it_goes_on() const {
        if (!ended_) log_message(LogLevel::warning, "the window is closed; the training goes on");
    }
    /// When the window cannot go on: waits for the end and returns the exit code. Logs the error, which `main` does not
    /// see.
    int finish_without_window() const {
        say_if_it_goes_on();
        try {
            finish();
            return 0;
        } catch (const std::exception&) {
            return report_error();
        }
    }

private:
    void run(const std::function<void()>& train) {
        try {
            train();
        } catch (const Error& error) {
            fail(exit_code(error.kind()));
            throw;
        } catch (...) {
            fail(exit_code(ErrorKind::failure));
            throw;
        }
        ended_ = true;
    }
    void fail(int code) {
        code_ = code, ended_ = true;
        view::WindowSystem::wake();
    }

    std::atomic<int> code_ = 0;
    std::atomic<bool> ended_ = false;
    std::shared_future<void> end_;
};

/// Shows the window until it is closed or the training fails. Ctrl-C ends both. Returns false after Ctrl-C: then the
/// window may not be destroyed before the training has saved, because that waits for the device.
bool show(view::Window& window, const Training& training) {
    constexpr double longest_wait = 1;
    try {
        while (!training.failed() && window.turn(longest_wait)) {
        }
        training.say_if_it_goes_on();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) return false;
        log_message(LogLevel::error, format("the window is closed: {}", error.what()));
    }
    return true;
}

}  // namespace

void watch_training(const std::string& output, const Device& device, Probe& probe,
                    const std::function<void(view::TrainingSnapshots*)>& train) {
    view::TrainingSnapshots snapshots(probe.read(), view::WindowSystem::wake);
    std::optional<view::Window> window(
        std::in_place, device, snapshots.live(), view::ViewState(),
        view::WindowOptions{.title = "Vantage · training " + std::filesystem::path(output).filename().string(),
                            .keys = view::own_keys(),
                            .training = &snapshots});
    const Training training([&] { train(&snapshots); });
    view::finish_before_x11_ends([&] { return training.finish_without_window(); });
    if (show(*window, training)) window.reset();
    snapshots.close();
    training.wait();
    view::finish_before_x11_ends([code = training.code()] { return code; });  // the connection is still to be closed
    training.finish();
}

}  // namespace vantage::cli
