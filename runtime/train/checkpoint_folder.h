// Folders of a training run: a model folder that programs open, with what training goes on from.
//   DIR/step-001250/  config.json, tokenizer and the like, model.safetensors (f32); or of a model with adapters these
//                     alone, adapter_config.json and adapter_model.safetensors
//                     training.safetensors  the optimiser's states, and the words of shaders/params/train.h
//                     training.json         settings, data, device, and sizes and checksums of the other files
//   DIR/latest        a link to the newest of them
//   DIR/best          a link to the one with the lowest validation loss, where `vantage train` evaluates
// A folder is written beside its place and renamed, so that it is whole or not there.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/train/model_weights.h"
#include "vantage/model.h"
#include "vantage/train.h"

namespace vantage::internal {

/// What a run begins with: a config.json for a new model, a model folder, or a folder of adapters that names one.
class ModelOrigin {
public:
    /// `beside`: the folder of the config's preprocessor_config.json; empty where there is none.
    static ModelOrigin from_config(const std::string& config, const std::string& tokenizer_file,
                                   const std::string& beside = {});
    /// With `labels` its config has another output layer (config_with_labels).
    static ModelOrigin from_folder(const std::string& folder, const std::vector<std::string>& labels = {});
    /// Throws bad_file.
    ModelConfig config() const;
    StartingWeights weights(ModelConfig& config, std::uint64_t seed) const;
    /// The model with adapters, those of the folder or new ones as the options say; nothing where there are none.
    std::optional<Model> adapted_model(const Device& device, const TrainOptions& options) const;
    /// Throws usage for TrainOptions::lora and ::weights that do not fit.
    void require_fit(const TrainOptions& options) const;
    const std::string& folder() const { return folder_; }  ///< of the model
    /// The same without links, as it was when this was made.
    const std::string& base() const { return base_; }
    const std::string& adapters() const { return adapters_; }  ///< their folder; empty: none
    /// A checksum of the model that has adapters: its config, and the beginning of each tensor. Empty without adapters.
    std::string base_checksum(const TrainOptions& options) const;
    /// The path of tokenizer.json.
    std::optional<std::string> tokenizer() const;
    /// Writes config.json and the files beside it, as they were when the run began.
    void write_files(const FolderWriter& to) const;

private:
    void keep(const std::string& folder, const char* file);
    std::string base_, folder_, adapters_, tokenizer_;
    bool new_output_layer_ = false;
    std::map<std::string, std::string> files_;  ///< what they contain, by name
};

inline constexpr std::int64_t max_steps = 1 << 24, max_warmup = 1 << 24, max_sequences = 1 << 20;  ///< of TrainOptions
Json to_json(const TrainOptions& options);
TrainOptions train_options_of(const JsonFields& fields);

/// What training.json says.
struct SavedTraining {
    std::string folder;  ///< of the checkpoint
    std::int64_t step = 0;
    TrainOptions options;
    std::string data_key;
    std::string base;  ///< ModelOrigin::base_checksum; empty in runs that have none
    Json data;         ///< files and options, as the program that made the data set described them
    std::map<std::string, std::string> made_by;  ///< device, driver and Vantage; older runs lack some of them
};
/// The newest whole checkpoint of a run with a step below `before`; nothing where there is none.
std::optional<SavedTraining> checkpoint_before(const std::string& run, std::int64_t before);
/// The checkpoints of a run, whole or not, by step.
std::map<std::int64_t, std::string> checkpoints_in(const std::string& folder);
/// Lets the link `latest` or `best` of a run point to the checkpoint of this step; nothing: there is no such link. What
/// has this name and is no link stays, with a warning. Throws bad_file.
void link_checkpoint(const std::string& run, const char* link, std::optional<std::int64_t> step);
/// Removes what processes that were killed left of checkpoints, logs and pictures.
void remove_unfinished(const std::string& folder);
/// The newest whole checkpoint of a run, or the folder itself where it is one. Folders that are not whole are named in
/// warnings. Throws bad_file where there is none.
SavedTraining newest_checkpoint(const std::string& folder);

/// Logs a warning that names what differs where the checkpoint is of another device, driver or version of Vantage.
void warn_of_other_bits(const SavedTraining& saved, const Caps& caps);

/// Throws bad_file where the file system of this folder has less room than a checkpoint's bytes. One that does not say
/// how much it has, or a folder that is not there yet, is no error.
void require_room(const std::string& folder, std::uint64_t bytes);
/// Writes training.json with the checksums of the files that are there.
void write_training_json(const FolderWriter& folder, std::int64_t step, const TrainOptions& options,
                         const std::string& data_key, const Json& data, const std::string& base, const Caps& caps);
std::string checkpoint_name(std::int64_t step);  ///< "step-001250"

}  // namespace vantage::internal
