// The folder of a training run, as `vantage train --resume` and `--compare` read it: the checkpoint's training.json,
// with which training goes on by a step on the null device (tests/null_device), run.json, and log.jsonl with the chart
// of its curves. Settings must be within their limits, or reading throws.
//
// The input is the folder (packed_files.h). A checkpoint holds only as long as the files have the sizes and checksums
// that training.json says, which no change of an input would keep. So where it says "right" of a file, that is
// replaced by what is right. The data are always the same: `data_of`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/checksum.h"
#include "runtime/picture/step_chart.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/run_files.h"
#include "runtime/train/token_data.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/null_device.h"
#include "tests/fuzz/packed_files.h"
#include "vantage/train.h"

namespace {

using namespace vantage;
using namespace vantage::internal;
using packed_files::File;

constexpr std::array<const char*, 7> names{"config.json", "model.safetensors", "training.safetensors", "training.json",
                                           "run.json",    "log.jsonl",         "heads.jsonl"};
constexpr std::int64_t vocabulary = 16;

/// 400 token ids, and no file where training.json has its own.
Dataset data_of(std::int64_t context) {
    static const Folder folder;
    static const std::string file = [] {
        std::string ids;
        for (int i = 0; i < 400; ++i) ids += {static_cast<char>((i * 7 + i / 16) % vocabulary), '\0'};
        folder.write("data.bin", ids);
        return folder.path("data.bin");
    }();
    return Dataset({file}, {.context = context, .vocabulary = vocabulary, .folder = folder.path()});
}

/// Replaces "right" by size and checksum. What is not JSON stays.
void complete(std::vector<File>& files) {
    const auto training = std::ranges::find(files, "training.json", &File::name);
    if (training == files.end()) return;
    Json json;
    try {
        json = parse_json(training->bytes, "training.json");
    } catch (const Error&) {
        return;
    }
    if (!json.is_object() || !json.contains("files") || !json["files"].is_object()) return;
    for (const auto& [name, entry] : json["files"].items())
        if (const auto file = std::ranges::find(files, name, &File::name); entry == "right" && file != files.end())
            entry = {{"bytes", file->bytes.size()}, {"checksum", format("{:016x}", checksum(file->bytes))}};
    training->bytes = json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check(const TrainOptions& o) {
    require(o.steps >= 1 && o.steps <= max_steps && o.sequences >= 1 && o.sequences <= max_sequences);
    require(o.accumulate >= 1 && o.accumulate <= max_sequences && o.rate.warmup >= 0);
    for (const double share : {o.beta1, o.beta2, o.momentum, o.label_smoothing}) require(share >= 0 && share < 1);
    for (const double number :
         {o.rate.rate, o.rate.floor, o.eps, o.weight_decay, o.max_norm, o.z_loss, o.load_balance.value_or(0)})
        require(std::isfinite(number) && number >= 0);
    require(o.validation_sequences >= 0 && o.pause_every >= 0);
    require(o.skipped_batches >= 0 && o.skipped_batches <= max_steps);
    const Json json = to_json(o);
    require(to_json(train_options_of(JsonFields(json, "options"))) == json);
}

void check(const std::vector<std::string>& files, const DatasetOptions& o) {
    require(o.context >= 1 && o.vocabulary >= 0 && o.validation_share >= 0 && o.validation_share <= 1);
    const Json json = to_json(files, o);
    require(!json.dump(-1, ' ', false, Json::error_handler_t::replace).empty());
}

/// Returns how many steps the run has.
std::size_t go_on(const std::string& folder) {
    const SavedTraining saved = newest_checkpoint(folder);
    require(saved.step >= 0 && saved.step <= max_steps);
    check(saved.options);
    const JsonFields fields(saved.data, "training.json: data");
    const DatasetOptions options = dataset_options_of(fields);
    check(dataset_files_of(fields), options);
    using enum ErrorKind;
    allowed({bad_file, unsupported, usage, out_of_memory, accuracy}, [&] {
        const Dataset data = data_of(options.context);
        Trainer trainer = Trainer::from_folder(null_device(), saved.folder, data, saved.options, true);
        static_cast<void>(trainer.next());
    });
    return static_cast<std::size_t>(saved.options.steps);
}

void check_log(const std::string& path) {
    const LoggedRun run = read_log(path);
    require(run.losses.size() == run.steps.size() && run.norms.size() == run.steps.size());
    require(run.rates.size() == run.steps.size() && run.evaluations.size() == run.evaluation_steps.size());
    for (const auto* steps : {&run.steps, &run.evaluation_steps})
        for (const double step : *steps) require(step >= 0 && step <= max_steps);
    StepChart chart{.title = "fuzz", .panels = {{.title = "loss"}, {.title = "norm", .logarithmic = true}}};
    chart.panels[0].curves = {{"training", style::accent, run.steps, run.losses},
                              {"validation", style::strong, run.evaluation_steps, run.evaluations}};
    chart.panels[1].curves = {{"", style::accent, run.steps, run.norms}, {"", style::accent, run.steps, run.rates}};
    const Drawing drawing = draw_step_chart(chart);
    require(drawing.shapes.size() < 10'000);  // curves are thinned
    for (const auto& shape : drawing.shapes)
        if (const auto* line = std::get_if<DrawnLine>(&shape))
            for (const double place : {line->x0, line->y0, line->x1, line->y1}) require(place >= 0 && place < 2000);
}

void check_heads(const std::string& path) {
    if (!std::filesystem::exists(path)) return;
    LoggedHeads heads;
    read_log_lines(path, max_steps, [&](const JsonFields& line) { take_heads(heads, line); });
    for (const auto& [place, head] : heads) {
        require(place.first >= 0 && place.second >= 0 && !head.steps.empty());
        require(head.steps.size() == head.previous.size() && head.steps.size() == head.induction.size());
    }
}

void check_settings(const std::string& path) {
    if (!std::filesystem::exists(path)) return;
    const Json json = read_json(path);
    const RunSettings settings = run_settings_of(JsonFields(json, path));
    require(settings.eval_every >= 0 && settings.sample_every >= 0 && settings.save_every >= 0);
    require(settings.keep >= 1 && settings.patience >= 0);
    const Json again = to_json(settings);
    require(to_json(run_settings_of(JsonFields(again, path))) == again);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return packed_files::mutate(names, data, size, max_size, seed);
}
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
    return packed_files::cross(names, {data1, size1}, {data2, size2}, out, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    static_cast<void>(null_device());
    std::vector<File> files = packed_files::unpack(names, data, size);
    complete(files);
    packed_files::fill(folder, names, files);
    const HeapMeter meter;
    allowed({ErrorKind::bad_file}, [&] { check_settings(folder.path("run.json")); });
    allowed({ErrorKind::bad_file}, [&] { check_log(folder.path("log.jsonl")); });
    allowed({ErrorKind::bad_file}, [&] { check_heads(folder.path("heads.jsonl")); });
    std::size_t steps = 0;
    allowed({ErrorKind::bad_file}, [&] { steps = go_on(folder.path()); });
    meter.require_at_most(memory_for(size) + null_device_memory +
                          16 * steps);  // learning rates are computed for all steps
    return 0;
}
