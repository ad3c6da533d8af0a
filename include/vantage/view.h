// What the heads of a Session read, in a window, while a program runs the session. Link vantage::view. For example:
//
//     vantage::Device device = vantage::open_for_windows();
//     vantage::Model model = vantage::Model::load(device, "models/gpt2");
//     vantage::Session session(model, {.record_attention = vantage::RecordAttention::all()});
//     vantage::AttentionFeed feed(session);
//     vantage::ViewWindow window(feed);
//     session.append(model.tokenizer().encode("The animal didn't cross the street because it", true).ids);
//     while (window.turn(session.ended() ? 1 : 0))
//         if (session.next()) feed.publish();
//
// A program with a window and a Vulkan device of its own has the same picture drawn into its images: vantage/view_vulkan.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "vantage/session.h"

namespace vantage {

namespace view {
class LiveModel;
}

/// Opens a device as Device::open does, that also shows windows. Begins GLFW, which ends with the program; to be called from the
/// main thread. Throws also `unsupported` where there is no display, or the device does not draw.
Device open_for_windows(const std::string& wish = "");

/// What viewers may know of a session: what it had run when `publish` was called last. Weights are not copied for it; who looks
/// makes them from the rows that the session keeps on the device.
class AttentionFeed {
public:
    /// The session watches all its layers, else this throws usage. It stays where it is, and lives longer.
    explicit AttentionFeed(Session& session);
    ~AttentionFeed();
    AttentionFeed(const AttentionFeed&) = delete;
    AttentionFeed& operator=(const AttentionFeed&) = delete;

    /// Shows what has run by now. In the thread that runs the session, after `next` or `process`, and after `restart`, `rewind`
    /// and `mask_heads` before anything runs again. Viewers may be in another thread; none is waited for.
    void publish();

    /// For the runtime itself.
    view::LiveModel& live() const { return *live_; }

private:
    std::unique_ptr<view::LiveModel> live_;
};

struct ViewOptions {
    float scale = 1;                            ///< size of everything; a window multiplies it by the screen's own
    std::optional<double> budget_percent = {};  ///< what viewing may cost at most, of the model's time
};

struct ViewWindowOptions {
    std::string title = "Vantage";
    int width = 1280, height = 800;
    ViewOptions view = {};
};

/// A window of its own, with all that `vantage view` has but a prompt: the program says what runs. Main thread only.
class ViewWindow {
public:
    /// The model's device was opened by open_for_windows. The feed lives longer. Throws unsupported where no window can be opened.
    explicit ViewWindow(AttentionFeed& feed, const ViewWindowOptions& options = {});
    ~ViewWindow();
    ViewWindow(const ViewWindow&) = delete;
    ViewWindow& operator=(const ViewWindow&) = delete;

    /// Hears what the user did and draws if there is something new; false when the window was closed. With `seconds` it waits for
    /// so long at most until there is: for programs that run their session in another thread. Throws as Plan::run.
    bool turn(double seconds = 0);
    /// Turns until the window is closed.
    void run();
    /// Writes what is shown as a PNG: all data of the version published last, for which it waits. Throws if the file cannot be
    /// written or the window is minimised.
    void save(const std::string& path);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage
