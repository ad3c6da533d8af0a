// A window in which a model writes and its attention is seen, live. Link vantage::view.
//
//     vantage::show_attention("models/gpt2", {.prompt = "The animal didn't cross the street because it"});
#pragma once

#include <cstdint>
#include <string>

#include "vantage/session.h"

namespace vantage {

struct ShowOptions {
    std::string prompt = "Once upon a time";
    Sampling sampling = usual_sampling;
    std::int64_t max_tokens = 48;
    std::string device;  ///< as Device::open takes it
    int width = 1280, height = 800;
};

/// Loads the model of a folder, lets it go on with the prompt, and returns when the window is closed. To be called from the main
/// thread. Throws as Device::open and Model::load, and `unsupported` where there is no display.
void show_attention(const std::string& directory, const ShowOptions& options = {});

}  // namespace vantage
