// Training steps on the device: runs that PyTorch recorded, and what a step must and must not do.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "../host/temporary_directory.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "runtime/train/recorded_training.h"
#include "test_device.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::TemporaryDirectory;

namespace {

const std::string runs = std::string(VANTAGE_TEST_DATA) + "/data/oracle/";

void check_run(const std::string& folder, std::int64_t head_rows = 0) {
    const RecordedRun run(runs + folder);
    const TrainingComparison found = compare_with_recorded(test_device(), run, {}, head_rows);
    REQUIRE(std::ssize(found.steps) == run.steps());
    for (const StepComparison& step : found.steps) {
        INFO(folder << ", step " << step.step << ": loss " << step.loss << " off by " << step.loss_error << ", norm "
                    << step.norm << " off by " << step.norm_error);
        CHECK(step.passed);
    }
    INFO(folder << ": gradients off by " << found.gradient.error << " in " << found.gradient.tensor
                << ", parameters by " << found.parameter.error << " in " << found.parameter.tensor);
    CHECK(found.first_parameter.has_value() == run.has_first());
    CHECK(found.not_compared == 0);
    CHECK(found.passed);
}

void add_to_element(const std::string& file, const char* tensor, std::size_t element, float difference) {
    const std::size_t place = SafeTensors(file).at(tensor).data.begin() + element * sizeof(float);
    std::string bytes = read_file(file);
    float value = 0;
    std::memcpy(&value, &bytes.at(place), sizeof value);
    value += difference;
    std::memcpy(&bytes.at(place), &value, sizeof value);
    write_file(file, bytes);
}

}  // namespace

TEST_CASE("recorded training runs come out as PyTorch computed them", "[train]") {
    for (const std::string& folder :
         sampled({"train", "train_more/llama", "train_more/bert", "train_more/t5", "train_more/vit"}))
        check_run(folder);
}

TEST_CASE("a run in f16 is near the one that PyTorch recorded, whatever the loss scale", "[train]") {
    const RecordedRun run(runs + "train");
    const TrainingComparison found = compare_with_recorded(test_device(), run, {}, 0, true);
    for (const StepComparison& step : found.steps) {
        INFO("step " << step.step << ": loss " << step.loss << " off by " << step.loss_error);
        CHECK(step.loss_error < 2e-2);
        CHECK(step.norm_error < 5e-2);
    }
}

TEST_CASE("a run whose logits are made some rows at a time is the one that PyTorch recorded", "[train]") {
    check_run("train", 13);
}

TEST_CASE("each step of a recorded run has its own loss, however many there are", "[train][once]") {
    constexpr std::int64_t steps = 280, repeated = 20;  // more steps than the device keeps records of
    const WithoutGuard hundreds_of_equal_steps;
    const TemporaryDirectory folder;
    std::filesystem::copy(runs + "train", folder.path("run"), std::filesystem::copy_options::recursive);
    const std::string record = folder.path("run/train.json"), data = folder.path("run/data.safetensors");
    Json json = parse_json(read_file(record), record);
    for (const char* key : {"loss", "grad_norm_before_clip"}) {
        const auto values = json[key].get<std::vector<double>>();
        for (std::int64_t i = repeated; i < steps; ++i)
            json[key].push_back(values[static_cast<std::size_t>(i % repeated)]);
    }
    json["lr"] = std::vector<double>(steps, 0);  // so nothing is learned, and equal batches have equal losses
    write_file(record, json.dump());
    const std::vector<std::byte> batches = SafeTensors(data).at("tokens").data.all();
    std::vector<std::byte> tokens;
    for (std::int64_t i = 0; i < steps / repeated; ++i) tokens.insert(tokens.end(), batches.begin(), batches.end());
    write_safetensors(data, {{.name = "tokens", .dtype = "I32", .shape = {steps, 4, 33}, .data = tokens}});
    const TrainingComparison found = compare_with_recorded(test_device(), RecordedRun(folder.path("run")));
    REQUIRE(std::ssize(found.steps) == steps);
    for (std::size_t i = repeated; i < found.steps.size(); ++i)
        REQUIRE(found.steps[i].loss == found.steps[i % repeated].loss);
    CHECK(found.steps[0].loss != found.steps[1].loss);
}

TEST_CASE("a recorded run with another parameter does not pass, unless its gradient is rounding error", "[train]") {
    // Of 96 biases the 32 of the keys are in the middle. Other parameters may differ by 2e-5 and 2e-4.
    constexpr std::size_t query = 0, key = 32;
    const auto compared = [](std::size_t element, std::initializer_list<const char*> files) {
        const TemporaryDirectory folder;
        std::filesystem::copy(runs + "train", folder.path("run"), std::filesystem::copy_options::recursive);
        for (const char* file : files)
            add_to_element(folder.path("run/") + file, "transformer.h.0.attn.c_attn.bias", element, 1e-3F);
        return compare_with_recorded(test_device(), RecordedRun(folder.path("run")));
    };
    const char *const first = "step1.safetensors", *const last = "final.safetensors";
    const TrainingComparison after_first = compared(query, {first});
    CHECK(!after_first.passed);
    REQUIRE(after_first.first_parameter);
    CHECK((after_first.first_parameter->share > 1 && after_first.parameter.share <= 1));
    const TrainingComparison at_end = compared(query, {last});
    CHECK(!at_end.passed);
    CHECK(at_end.parameter.share > 1);
    CHECK(compared(key, {first, last}).passed);
}
