#include "vantage/view.h"
#include "vantage/vulkan.h"
#include "viewer/window/window.h"

namespace vantage {

void show_attention(const std::string& directory, const ShowOptions& options) {
    const view::WindowSystem system;
    const Device device = open_for_windows(options.device, system.instance_extensions());
    const Model model = Model::load(device, directory);
    view::ViewState state;
    state.prompt = options.prompt;
    state.sampling = options.sampling;
    state.max_tokens = options.max_tokens;
    view::LiveModel live(model, {.on_version = view::WindowSystem::wake});
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    view::Window(device, live, state,
                 {.title = "Vantage · " + model.info().name,
                  .width = options.width,
                  .height = options.height,
                  .keys = view::own_keys()})
        .run();
}

}  // namespace vantage
