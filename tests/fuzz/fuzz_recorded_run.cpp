// A recorded training run (runtime/train/recorded_run.h), as `vantage conform --training` repeats it: its batches have
// the sizes that the model is built for, and ids below its vocabulary, or reading throws. What is accepted is repeated
// on the null device (tests/null_device).
//
// The input is the folder (packed_files.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/models/model_builder.h"
#include "runtime/train/recorded_training.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/null_device.h"
#include "tests/fuzz/packed_files.h"

namespace {

using namespace vantage;
using namespace vantage::internal;

constexpr std::array<const char*, 6> names{"config.json",        "train.json",       "data.safetensors",
                                           "grads0.safetensors", "init.safetensors", "final.safetensors"};

template <class T>
std::int64_t count_of(const MicroBatch& batch, const char* name) {
    return std::ssize(std::get<std::vector<T>>(batch.at(name)));
}

void check_batch(const RecordedRun& run, const MicroBatch& batch) {
    const TrainingSettings& settings = run.settings();
    const std::int64_t rows = settings.sequences * settings.rows;
    const ImageInput& image = run.config().learned_image();
    const Task task = task_of(run.config());
    if (image.channels > 0) require(count_of<float>(batch, model_names::pixels) == settings.sequences * image.pixels());
    if (!run.config().is_vision()) require(count_of<std::int32_t>(batch, model_names::tokens) == rows);
    if (batch.contains(model_names::source_tokens))
        require(count_of<std::int32_t>(batch, model_names::source_tokens) == settings.sequences * settings.source_rows);
    require(count_of<std::int32_t>(batch, train_names::targets) ==
            (task == Task::labels || task == Task::pairs ? settings.sequences : rows));
    for (const std::int32_t id : std::get<std::vector<std::int32_t>>(batch.at(model_names::tokens)))
        require(id >= 0 && id < run.config().vocab);
    for (const std::int32_t end : std::get<std::vector<std::int32_t>>(batch.at(model_names::ends)))
        require(end >= 0 && end < rows);
    require(count_of<float>(batch, train_names::loss_weights) == count_of<std::int32_t>(batch, train_names::targets));
}

void check(const RecordedRun& run) {
    require(run.steps() >= 1 && run.micro_batches() >= 1 && run.settings().sequences >= 1);
    require(std::ssize(run.settings().rates) >= run.steps());
    for (std::int64_t step = 0; step < std::min<std::int64_t>(run.steps(), 3); ++step) {
        require(std::isfinite(run.loss(step)) && std::isfinite(run.norm(step)));
        for (std::int64_t micro = 0; micro < std::min<std::int64_t>(run.micro_batches(), 3); ++micro)
            check_batch(run, run.batch(step, micro));
    }
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
    const Device& device = null_device();
    packed_files::fill(folder, names, packed_files::unpack(names, data, size));
    const HeapMeter meter;
    using enum ErrorKind;
    allowed({bad_file, unsupported}, [&] {
        const RecordedRun run(folder.path());
        check(run);
        // sizes of the config that do not fit a tensor, or the device, show when the graph is built
        allowed({bad_file, unsupported, usage, out_of_memory},
                [&] { static_cast<void>(compare_with_recorded(device, run)); });
    });
    meter.require_at_most(memory_for(size) + null_device_memory);
    return 0;
}
