#include "cli/train/watch.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>

#include "cli/shared/report_error.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "viewer/data/training_frames.h"
#include "viewer/window/window.h"
#include "viewer/window/x11_errors.h"

namespace vantage::cli {

namespace {

constexpr const char* training_goes_on = "the window is closed; the training goes on";

/// The thread of a training.
struct Training {
    std::atomic<bool> ended = false, failed = false;
    std::shared_future<void> end;

    explicit Training(const std::function<void()>& train)
        : end(std::async(std::launch::async, [this, train] {
              try {
                  train();
              } catch (...) {
                  failed = ended = true;
                  view::WindowSystem::wake();
                  throw;
              }
              ended = true;
          })) {}
    /// Waits for its end, and returns the exit code of the program. Without a window, nobody else says what went wrong.
    int code() const {
        if (!ended) log_message(LogLevel::warning, training_goes_on);
        try {
            end.get();
            return 0;
        } catch (const std::exception&) {
            return report_error();
        }
    }
};

/// Shows the window until it is closed, or the training fails. Ctrl-C closes it; the training hears of it, too. Returns
/// whether the device may be used: not while an interruption ends the program.
bool show(view::Window& window, const Training& training) {
    constexpr double longest_wait = 1;
    try {
        while (!training.failed && window.turn(longest_wait)) {
        }
        if (!training.ended) log_message(LogLevel::warning, training_goes_on);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) return false;
        log_message(LogLevel::error, format("the window is closed: {}", error.what()));
    }
    return true;
}

}  // namespace

void watch_training(const std::string& output, const Device& device, Probe& probe,
                    const std::function<void(view::TrainingFrames*)>& train) {
    view::TrainingFrames frames(probe.read(), view::WindowSystem::wake);
    view::WindowOptions options{.title = "Vantage · training " + std::filesystem::path(output).filename().string()};
    options.keys = view::own_keys(), options.training = &frames;
    std::optional<view::Window> window(std::in_place, device, frames.live(), view::ViewState(), options);
    const Training training([&] { train(&frames); });
    view::finish_before_x11_ends([&] { return training.code(); });
    if (show(*window, training)) window.reset();
    frames.close();
    int code = exit_code(ErrorKind::failure);
    try {
        training.end.get();
        code = 0;
    } catch (const Error& error) {
        code = exit_code(error.kind());
        view::finish_before_x11_ends([code] { return code; });
        throw;
    } catch (...) {
        view::finish_before_x11_ends([code] { return code; });
        throw;
    }
    view::finish_before_x11_ends([code] { return code; });  // when the connection is closed: all is done
}

}  // namespace vantage::cli
