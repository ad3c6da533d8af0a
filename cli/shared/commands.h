// The subcommands of `vantage`. Each adds itself to the program. They throw vantage::Error; its kind decides the exit
// code.
#pragma once

#include <string>

#include "cli/shared/cli11.h"
#include "vantage/device.h"
#include "vantage/model.h"

namespace vantage::cli {

void add_demo(CLI::App& app);
void add_run(CLI::App& app);
void add_chat(CLI::App& app);
void add_inspect(CLI::App& app);
void add_heads(CLI::App& app);
void add_prune(CLI::App& app);
void add_embed(CLI::App& app);
void add_classify(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_devices(CLI::App& app);
void add_conform(CLI::App& app);
void add_bench(CLI::App& app);
void add_explain(CLI::App& app);
void add_replay(CLI::App& app);
void add_tune(CLI::App& app);
void add_view(CLI::App& app);
void add_serve(CLI::App& app);
void add_train(CLI::App& app);
void add_finetune(CLI::App& app);
void add_merge(CLI::App& app);
void add_data(CLI::App& app);

/// Folder of the built-in model, in a checkout or an installation.
std::string built_in_model();
/// The folder given with -m, else of the built-in model.
std::string model_folder();

/// The options that all subcommands share. They can be given before or after the subcommand.
struct Common {
    std::string device;   ///< --device; empty: VANTAGE_DEVICE, else the best
    int verbose = 0;      ///< -v, twice for debug
    bool quiet = false;   ///< -q
    bool strict = false;  ///< --strict: see runtime/base/log.h
    std::string profile;  ///< --profile FILE
    std::string model;    ///< -m, --model
    std::string weights;  ///< --weights; empty: as in the file
    std::string lora;     ///< --lora: a folder of adapters
};
Common& common();
/// Adds -m/--model and --weights.
void add_model_option(CLI::App& command);
void add_weights_option(CLI::App& command);
/// Adds --lora, of commands that run one model.
void add_lora_option(CLI::App& command);
/// Opens the device of --device, else of VANTAGE_DEVICE, else the best. Throws like Device::open.
Device open_device();
/// The options that --weights and --lora set.
LoadOptions load_options();
/// Loads the model of -m (default: the built-in one) with load_options(); logs it with -v. Of a folder with two models
/// the one that `tower` names.
Model load_model(const Device& device, Tower tower = Tower::text);
/// What reads this input: the image tower where there are images.
inline Tower tower_for(bool images) { return images ? Tower::image : Tower::text; }

/// Sets the exit code of the program for a subcommand that returns normally (7 in `conform`).
void set_exit_code(int code);

}  // namespace vantage::cli
