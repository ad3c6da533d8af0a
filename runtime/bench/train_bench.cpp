#include "runtime/bench/train_bench.h"

#include <algorithm>
#include <random>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::internal {

namespace {

constexpr std::int32_t end_token = 0;

// A file of drawn tokens.
Dataset drawn_data(const std::string& folder, const ModelConfig& config, const TrainTest& test, std::int64_t steps) {
    std::mt19937_64 random(1);
    const auto other_tokens = static_cast<std::uint64_t>(config.vocab - 1);
    // At most 64 MiB: a longer measurement reads them again.
    const double wanted = static_cast<double>(steps) * static_cast<double>(test.accumulate) *
                          static_cast<double>(test.sequences) * static_cast<double>(test.tokens);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(wanted, 0x1p24)) + 1);
    for (std::int32_t& id : ids) id = end_token + 1 + static_cast<std::int32_t>(random() % other_tokens);
    std::vector<std::int64_t> documents{0};  // where each begins
    for (std::int64_t end = test.document; end > 0 && end < std::ssize(ids); end += test.document) {
        at(ids, end - 1) = end_token;
        documents.push_back(end);
    }
    const std::string file = folder + "/tokens.safetensors";
    write_safetensors(file, {{"tokens", "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))},
                             {"documents", "I64", {std::ssize(documents)}, std::as_bytes(std::span(documents))}});
    return Dataset({file}, {.context = test.tokens,
                            .validation_share = 0,
                            .separate_documents = test.document > 0,
                            .vocabulary = config.vocab,
                            .end_token = end_token,
                            .folder = folder});
}

}  // namespace

std::string TrainTest::name() const {
    std::string name = format("{} × {}", sequences, tokens);
    if (accumulate > 1) name = format("{} × {}", accumulate, name);
    return document > 0 ? format("{}, documents of {}", name, document) : name;
}

TrainTimes time_training(const Device& device, const std::string& folder, const std::string& config,
                         const TrainTest& test, TrainOptions options, std::int64_t warm_up, std::int64_t steps,
                         const std::function<void(std::int64_t step)>& progress) {
    const bool trained = !folder.empty();
    const ModelConfig sizes =
        trained ? ModelOrigin::from_folder(folder).config() : parse_model_config(config, "the shape");
    if (sizes.kind != ModelKind::decoder)
        throw usage_error("bench train is for models that learn the next token, and {} does not", sizes.architecture);
    if (test.tokens > sizes.context)
        throw usage_error("bench train: sequences have {} tokens, and {} supports at most {}", test.tokens,
                          sizes.architecture, sizes.context);
    if (sizes.vocab < 2) throw usage_error("bench train draws tokens, and {} has one", sizes.architecture);
    const TemporaryFolder temporary;
    const std::int64_t end = warm_up + steps;
    options.steps = end + 1;  // one more: where submitting blocks, the last two end together
    options.sequences = test.sequences, options.accumulate = test.accumulate, options.give_up = true;
    const Dataset data = drawn_data(temporary.path(), sizes, test, options.steps);
    const double begin = seconds_now();
    Trainer trainer =
        trained ? Trainer::from_folder(device, folder, data, options) : Trainer(device, config, data, options);
    TrainTimes times{.flops_per_token = trainer.flops_per_token(),
                     .parameters = trainer.parameters(),
                     .recompute = trainer.recompute(),
                     .bytes = trainer.bytes() + trainer.step_bytes()};
    while (const auto record = trainer.next()) {
        if (progress) progress(record->step);
        if (record->step + 1 == warm_up) times.compile_seconds = seconds_now() - begin, trainer.take_timings();
        if (record->step >= end) break;
        if (record->step >= warm_up) times.seconds.push_back(record->seconds);
        times.loss = record->loss;
    }
    times.timings = trainer.take_timings();
    return times;
}

}  // namespace vantage::internal
