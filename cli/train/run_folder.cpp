#include "cli/train/run_folder.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::cli {

namespace fs = std::filesystem;

std::string resume_command(const TrainCommand& c) { return format("vantage train --resume {}", shell_word(c.output)); }

void write_run_settings(const TrainCommand& c) {
    const Json json{{"schema_version", 1},   {"eval_every", c.eval_every}, {"sample_every", c.sample_every},
                    {"prompt", c.prompt},    {"save_every", c.save_every}, {"keep", c.keep},
                    {"patience", c.patience}};
    write_file(c.output + "/run.json", json.dump(2) + "\n");
}
void read_run_settings(TrainCommand& c, const CLI::App& command) {
    const std::string path = c.output + "/run.json";
    if (!fs::exists(path)) return;
    const Json json = read_json(path);
    const JsonFields fields(json, path);
    const auto given = [&](const char* option) { return command.get_option(option)->count() > 0; };
    const auto take = [&](const char* option, const char* key, std::int64_t& setting, std::int64_t min) {
        if (!given(option)) setting = fields.integer(key, min);
    };
    take("--eval-every", "eval_every", c.eval_every, 0), take("--sample-every", "sample_every", c.sample_every, 0);
    take("--save-every", "save_every", c.save_every, 0), take("--keep", "keep", c.keep, 1);
    take("--patience", "patience", c.patience, 0);
    if (!given("--prompt")) c.prompt = fields.text("prompt");
}

std::unique_ptr<FileLock> locked_folder(const std::string& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw bad_file_error("cannot make the folder {}: {}", folder, error.message());
    auto lock = std::make_unique<FileLock>(folder + "/.lock");
    remove_unfinished(folder);
    return lock;
}

std::string without_slash(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    return normal.has_filename() ? normal.string() : normal.parent_path().string();
}

}  // namespace vantage::cli
