#include "cli/train/run_folder.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/shared/command_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/documents.h"
#include "runtime/train/run_files.h"
#include "runtime/train/training_data.h"

namespace vantage::cli {

namespace fs = std::filesystem;

std::string resume_command(const TrainCommand& c) { return format("vantage train --resume {}", shell_word(c.output)); }

void write_run_settings(const TrainCommand& c) {
    Json json = to_json(RunSettings{.eval_every = c.eval_every,
                                    .sample_every = c.sample_every,
                                    .save_every = c.save_every,
                                    .keep = c.keep,
                                    .patience = c.patience,
                                    .prompt = c.prompt,
                                    .log_heads = c.log_heads,
                                    .rollback = c.rollback,
                                    .probe = c.probe,
                                    .evaluations_from = c.evaluations_from});
    json["schema_version"] = 1;
    write_file(c.output + "/run.json", json.dump(2) + "\n", Replaces::own);
}

void read_run_settings(TrainCommand& c, const CLI::App& command) {
    const std::string path = c.output + "/run.json";
    if (!fs::exists(path)) return;
    const Json json = read_json(path);
    const RunSettings saved = run_settings_of(JsonFields(json, path));
    const auto take = [&](const char* option, auto& setting, const auto& value) {
        if (!is_given(*command.get_option(option))) setting = value;
    };
    take("--eval-every", c.eval_every, saved.eval_every), take("--sample-every", c.sample_every, saved.sample_every);
    take("--save-every", c.save_every, saved.save_every), take("--keep", c.keep, saved.keep);
    take("--patience", c.patience, saved.patience), take("--prompt", c.prompt, saved.prompt);
    take("--log-heads", c.log_heads, saved.log_heads), take("--probe", c.probe, saved.probe);
    take("--rollback", c.rollback, saved.rollback);
    c.evaluations_from = std::max(c.evaluations_from, saved.evaluations_from);
}

std::unique_ptr<FileLock> locked_folder(const std::string& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw bad_file_error("cannot make the folder {}: {}", folder, error.message());
    // What a link in a folder from elsewhere points to may be a file of the user.
    for (const char* file : run_files)
        if (const std::string path = folder + "/" + file; fs::is_symlink(path, error))
            throw bad_file_error("{} is a link, which a run would write through: move it away", path);
    auto lock = std::make_unique<FileLock>(folder + "/.lock", FileLock::Sweep::nothing);
    remove_unfinished(folder);
    return lock;
}

void require_texts_for_blank_lines(const DatasetOptions& o, const std::vector<std::string>& data) {
    const auto has_text = [](const std::vector<std::string>& paths) {
        return !paths.empty() && std::ranges::any_of(files_in(paths), is_text_file);
    };
    if (o.blank_lines && !has_text(data) && !has_text(o.validation_files))
        throw usage_error("--blank-lines is for texts, and the data have none");
}

void refuse_output_in_data(const std::string& output, const std::vector<std::string>& data, const char* command) {
    const std::string real = fs::weakly_canonical(fs::absolute(output)).string() + "/";
    for (const std::string& path : data)
        if (std::error_code error;
            fs::is_directory(path, error) && real.starts_with(fs::canonical(path, error).string() + "/"))
            throw usage_error("{}: {} is in {}, whose files are read as data: write to another place", command, output,
                              path);
}

std::string without_slash(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    return normal.has_filename() ? normal.string() : normal.parent_path().string();
}

}  // namespace vantage::cli
