// The subcommands of `vantage`. Each adds itself to the program; errors leave as vantage::Error, whose kind is the exit code.
#pragma once

#include <string>

#include "vantage/device.h"
#include "vantage/model.h"

namespace CLI {
class App;
}

namespace vantage::cli {

void add_demo(CLI::App& app);
void add_run(CLI::App& app);
void add_chat(CLI::App& app);
void add_inspect(CLI::App& app);
void add_heads(CLI::App& app);
void add_embed(CLI::App& app);
void add_classify(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_devices(CLI::App& app);
void add_conform(CLI::App& app);
void add_bench(CLI::App& app);
void add_explain(CLI::App& app);
void add_tune(CLI::App& app);
void add_view(CLI::App& app);

/// Folder of the model that is used when none is named: from a checkout or from an installation.
std::string built_in_model();

/// The options that every subcommand shares; they may stand before or after its name.
struct Common {
    std::string device;   ///< --device; empty = VANTAGE_DEVICE, else the best
    int verbose = 0;      ///< -v, twice for debug
    bool quiet = false;   ///< -q
    bool strict = false;  ///< --strict: see runtime/base/fallback.h
    std::string profile;  ///< --profile FILE
    std::string model;    ///< -m, --model
    std::string weights;  ///< --weights; empty = as the file has them
};
Common& common();
/// Adds -m/--model and --weights.
void add_model_option(CLI::App& command);
/// Opens the device that --device names, or VANTAGE_DEVICE, or the best; throws as Device::open.
Device open_device();
/// What --weights says.
LoadOptions load_options();
/// Loads the model that -m names, or the built-in one, as --weights says, and tells of it with -v.
Model load_model(const Device& device);

/// Ends the program with this code after the subcommand has returned (conform's 7).
void set_exit_code(int code);

}  // namespace vantage::cli
