// A window that shows the attention of a Session while a program runs it. Link vantage::view. For example:
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
// vantage/view_vulkan.h draws the same picture into the window and Vulkan device of your own program.
//
// Threads: the main thread for windows; a feed's publish() belongs to the thread of its session.
// Errors: as said below. A window whose turn() threw can only be destroyed, a feed stays valid.
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

/// Opens a device that supports windows. `wish` is as in Device::open. Initialises GLFW until the program ends. Main
/// thread only. Also throws `unsupported` without a display, or for a device that cannot draw.
Device open_for_windows(const std::string& wish = "");

/// Publishes a session's progress to viewers: the state at the last call of `publish`. Nothing is copied: viewers
/// compute weights from the queries, keys and log-sum-exps that the session keeps on the device.
///
/// Threads: `publish` in the thread that runs the session; viewers may be in others.
class AttentionFeed {
public:
    /// The session records the attention of all its layers, else this throws usage. It must not be moved, and lives
    /// longer.
    explicit AttentionFeed(Session& session);
    ~AttentionFeed();
    AttentionFeed(const AttentionFeed&) = delete;
    AttentionFeed& operator=(const AttentionFeed&) = delete;

    /// Publishes what has run. Call it after `next` or `run`; and after `restart`, `rewind` or `mask_heads`, in a
    /// stable session also after `append`, before anything runs again. Does not wait for viewers.
    void publish();

    /// Internal.
    view::LiveModel& live() const { return *live_; }

private:
    std::unique_ptr<view::LiveModel> live_;
};

struct ViewOptions {
    /// Scale of the interface, from 0.5 to 4; a window multiplies it by the screen's. Not a number: throws usage.
    float scale = 1;
    /// Maximum share of the model's time that viewing may take, in percent. Default: no limit.
    std::optional<double> budget_percent = {};
};

struct ViewWindowOptions {
    std::string title = "Vantage";
    int width = 1280, height = 800;  ///< in pixels; less than 1: throws usage
    ViewOptions view = {};
};

/// A window with the features of `vantage view` except the prompt, because the program runs the model.
///
/// Threads: the main thread only.
class ViewWindow {
public:
    /// The model's device was opened by open_for_windows. The feed lives longer. Throws unsupported if no window can be
    /// opened.
    explicit ViewWindow(AttentionFeed& feed, const ViewWindowOptions& options = {});
    ~ViewWindow();
    ViewWindow(const ViewWindow&) = delete;
    ViewWindow& operator=(const ViewWindow&) = delete;

    /// Handles events and draws if something changed. Returns false once the window is closed. Waits up to `seconds`
    /// for events if there is nothing to do: pass 0 while the session has work, and 1 when it has ended, so that the
    /// loop does not spin. Throws as Plan::run.
    bool turn(double seconds = 0);
    /// Calls `turn` until the window is closed.
    void run();
    /// Writes what is shown as a PNG: all data of the version published last, for which it waits. Throws if the file
    /// cannot be written or the window is minimised.
    void save(const std::string& path);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage
