// The folder of a training run: its settings, and the lock that keeps other runs out.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/train/train_command.h"
#include "runtime/base/files.h"

namespace CLI {
class App;
}

namespace vantage::cli {

/// What a run writes into its folder beside checkpoints and the links to them.
inline constexpr std::array run_files{".lock",    "run.json",    "log.jsonl", "samples.txt", "loss.png",
                                      "loss.svg", "heads.jsonl", "heads.png", "heads.svg"};
/// The command that goes on with a run.
std::string resume_command(const TrainCommand& command);
/// Settings that may change when a run goes on. They are kept beside the checkpoints, in run.json.
void write_run_settings(const TrainCommand& command);
/// Reads those that are not given as options.
void read_run_settings(TrainCommand& command, const CLI::App& options);
/// Makes the folder where it is missing, locks it, and removes what a process that was killed left there.
std::unique_ptr<internal::FileLock> locked_folder(const std::string& folder);
/// A path without a slash at its end.
std::string without_slash(const std::string& path);
/// Throws usage if blank lines would separate documents, but neither `data`, files or folders of them, nor the validation
/// files have a text.
void require_texts_for_blank_lines(const DatasetOptions& o, const std::vector<std::string>& data);
/// Throws usage if `output` is in one of these folders: all their files are read as data, so the next run would read
/// it.
void refuse_output_in_data(const std::string& output, const std::vector<std::string>& data, const char* command);

}  // namespace vantage::cli
