// Implements vantage/view.h.
#include "runtime/picture/png.h"
#include "vantage/view.h"
#include "vantage/vulkan.h"
#include "viewer/panels/viewer.h"
#include "viewer/window/window.h"

namespace vantage {

Device open_for_windows(const std::string& wish) {
    static const view::WindowSystem system;  // initialised once
    return open_for_windows(wish, system.instance_extensions());
}

AttentionFeed::AttentionFeed(Session& session)
    : live_(std::make_unique<view::LiveModel>(session, view::WindowSystem::wake)) {}
AttentionFeed::~AttentionFeed() = default;
void AttentionFeed::publish() { live_->publish(); }

struct ViewWindow::State {
    State(view::LiveModel& live, const ViewWindowOptions& options)
        : window(live.model().device(), live, {},
                 {.title = options.title,
                  .width = options.width,
                  .height = options.height,
                  .scale = options.view.scale,
                  .budget_percent = options.view.budget_percent,
                  .keys = view::own_keys()}) {}
    view::Window window;
};

ViewWindow::ViewWindow(AttentionFeed& feed, const ViewWindowOptions& options)
    : state_(std::make_unique<State>(feed.live(), options)) {}
ViewWindow::~ViewWindow() = default;
bool ViewWindow::turn(double seconds) { return state_->window.turn(seconds); }
void ViewWindow::run() { state_->window.run(); }

void ViewWindow::save(const std::string& path) {
    write_png(path, state_->window.screenshot(), state_->window.viewer().picture_texts());
}

}  // namespace vantage
