#include "runtime/bench/train_bench.h"

#include <random>

#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::internal {

namespace {

// A file of drawn tokens.
Dataset drawn_data(const std::string& folder, const ModelConfig& config, std::int64_t context, std::int64_t sequences) {
    std::mt19937_64 random(1);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(sequences * context + 1));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(config.vocab));
    const std::string file = folder + "/tokens.safetensors";
    write_safetensors(file, {{"tokens", "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))}});
    return Dataset({file}, {.context = context, .validation_share = 0, .vocabulary = config.vocab, .folder = folder});
}

}  // namespace

std::string TrainTest::name() const {
    const std::string batch = format("{} × {}", sequences, tokens);
    return accumulate > 1 ? format("{} × {}", accumulate, batch) : batch;
}

TrainTimes time_training(const Device& device, const std::string& folder, const std::string& config,
                         const TrainTest& test, TrainOptions options, std::int64_t warm_up, std::int64_t steps,
                         const std::function<void(std::int64_t step)>& progress) {
    const bool trained = !folder.empty();
    const ModelConfig sizes =
        trained ? ModelOrigin::from_folder(folder).config() : parse_model_config(config, "the shape");
    if (sizes.kind != ModelKind::decoder)
        throw usage_error("bench train is for models that learn the next token, and {} does not", sizes.architecture);
    const TemporaryFolder temporary;
    const std::int64_t end = warm_up + steps;
    options.steps = end + 1;  // one more: where submitting blocks, the last two end together
    options.sequences = test.sequences, options.accumulate = test.accumulate;
    const Dataset data =
        drawn_data(temporary.path(), sizes, test.tokens, options.steps * test.sequences * test.accumulate);
    const double begin = seconds_now();
    Trainer trainer =
        trained ? Trainer::from_folder(device, folder, data, options) : Trainer(device, config, data, options);
    TrainTimes times{.flops_per_token = trainer.flops_per_token(),
                     .parameters = trainer.parameters(),
                     .recompute = trainer.recompute(),
                     .bytes = trainer.bytes() + trainer.step_bytes()};
    while (const auto record = trainer.next()) {
        if (progress) progress(record->step);
        if (record->step + 1 == warm_up) times.compile_seconds = seconds_now() - begin;
        if (record->step >= end) break;
        if (record->step >= warm_up) times.seconds.push_back(record->seconds);
        times.loss = record->loss;
    }
    return times;
}

}  // namespace vantage::internal
