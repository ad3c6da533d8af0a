#include "cli/train/watch.h"

#include <chrono>
#include <filesystem>
#include <future>

#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "viewer/data/training_frames.h"
#include "viewer/window/window.h"
#include "viewer/window/x11_errors.h"

namespace vantage::cli {

namespace {

constexpr const char* training_goes_on = "the window is closed; the training goes on";

bool is_done(const std::future<void>& training) {
    return training.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// Until the window is closed. Ctrl-C closes it; the training hears of it, too.
void show(view::Window& window, const std::future<void>& training) {
    constexpr double longest_wait = 1;
    try {
        while (window.turn(longest_wait)) {
        }
        if (!is_done(training)) log_message(LogLevel::warning, training_goes_on);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) return;
        log_message(LogLevel::error, format("the window is closed: {}", error.what()));
    }
}

// Waits for the end of a training without a window. Says what went wrong, as main does.
int code_of(std::future<void>& training) {
    if (!is_done(training)) log_message(LogLevel::warning, training_goes_on);
    try {
        training.get();
        return 0;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) log_message(LogLevel::error, error.what());
        return exit_code(error.kind());
    } catch (const std::exception& error) {
        log_message(LogLevel::error, error.what());
        return exit_code(ErrorKind::failure);
    }
}

}  // namespace

void watch_training(const std::string& output, const Device& device, Probe& probe,
                    const std::function<void(view::TrainingFrames*)>& train) {
    view::TrainingFrames frames(probe.read(), view::WindowSystem::wake);
    view::WindowOptions options{.title = "Vantage · training " + std::filesystem::path(output).filename().string()};
    options.keys = view::own_keys(), options.training = &frames;
    std::future<void> training;  // ends before the frames do
    view::Window window(device, frames.live(), {}, options);
    training = std::async(std::launch::async, [&] { train(&frames); });
    view::finish_before_x11_ends([&] { return code_of(training); });
    show(window, training);
    view::finish_before_x11_ends({});
    training.get();
}

}  // namespace vantage::cli
