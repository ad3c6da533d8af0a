// Training of a small model on the texts of the built-in one.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "../host/temporary_directory.h"
#include "runtime/base/json.h"
#include "test_device.h"
#include "vantage/train.h"

namespace vantage::test {

inline const std::string mini_world_folder = std::string(VANTAGE_ROOT) + "/assets/models/mini-world";
inline const std::string valid_text = mini_world_folder + "/valid.txt";

inline const Tokenizer& tokenizer() {
    static const Tokenizer one = Tokenizer::load(mini_world_folder + "/tokenizer.json");
    return one;
}

/// A GPT-2, of one layer by default.
inline std::string small_gpt2(std::int64_t context = 16, std::int64_t width = 16, std::int64_t layers = 1) {
    return internal::Json{{"architectures", {"GPT2LMHeadModel"}},
                          {"model_type", "gpt2"},
                          {"vocab_size", 2048},
                          {"n_positions", context},
                          {"n_embd", width},
                          {"n_layer", layers},
                          {"n_head", 2},
                          {"activation_function", "gelu_new"}}
        .dump();
}

/// Options and data that a test may change before it makes a trainer.
struct Training {
    TemporaryDirectory folder;
    Dataset data =
        Dataset({valid_text}, tokenizer(),
                {.context = 16, .validation_share = 0.1, .blank_lines = true, .folder = folder.path("tokens")});
    TrainOptions options{.steps = 8, .sequences = 4, .rate = {.rate = 1e-2, .warmup = 2}, .validation_sequences = 16};
    Trainer trainer(const std::string& config = small_gpt2()) const {
        return Trainer(test_device(), config, data, options, mini_world_folder + "/tokenizer.json");
    }
};

inline std::vector<TrainRecord> run(Trainer& trainer, std::int64_t steps = 1 << 20) {
    std::vector<TrainRecord> records;
    for (; steps > 0; --steps) {
        const auto record = trainer.next();
        if (!record) break;
        records.push_back(*record);
    }
    return records;
}

inline std::vector<double> losses(const std::vector<TrainRecord>& records) {
    std::vector<double> all;
    for (const TrainRecord& record : records) all.push_back(record.loss);
    return all;
}

/// Of two equal trainers the second one samples after each step.
inline void check_samples_change_nothing(Trainer plain, Trainer samples) {
    std::vector<double> got;
    while (const auto record = samples.next()) {
        got.push_back(record->loss);
        samples.sample("The dog", 4, {.ignore_end = true});
    }
    CHECK(got == losses(run(plain)));
    CHECK(samples.evaluate() == plain.evaluate());
}

}  // namespace vantage::test
