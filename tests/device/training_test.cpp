// Training steps on the device: runs that PyTorch recorded, and what a step must and must not do.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "runtime/train/recorded_training.h"
#include "test_device.h"

using namespace vantage;
using namespace vantage::internal;

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
