#include "cli/device/training_report.h"

#include "cli/shared/output.h"
#include "runtime/base/format.h"
#include "runtime/train/recorded_training.h"

namespace vantage::cli {

namespace {

void print_step(const StepComparison& step) {
    print_line("step {}: loss {:.6f} (off by {:.1e}), gradient norm {:.6f} (by {:.1e} of it){}", step.step, step.loss,
               step.loss_error, step.norm, step.norm_error, step.passed ? "" : ": too much");
}

void print_worst(const char* what, const WorstElement& worst) {
    print_line("{}: off by {:.1e} at most{}{}", what, worst.error,
               worst.tensor.empty() ? std::string() : ", in " + worst.tensor, worst.share > 1 ? ": too much" : "");
}

Json as_json(const Device& device, const TrainingComparison& found) {
    const Json steps = json_list(found.steps, [](const StepComparison& step) {
        return Json{{"step", step.step},
                    {"loss", step.loss},
                    {"loss_error", step.loss_error},
                    {"grad_norm", step.norm},
                    {"grad_norm_error", step.norm_error}};
    });
    Json all = {{"schema_version", 1},
                {"device", device.caps().name},
                {"steps", steps},
                {"grads0_error", found.gradient.error},
                {"final_error", found.parameter.error},
                {"passed", found.passed}};
    if (found.first_parameter) all["step1_error"] = found.first_parameter->error;
    return all;
}

}  // namespace

bool repeat_training(const Device& device, const std::string& folder, bool json) {
    const RecordedRun run(folder);
    const TrainingComparison found = compare_with_recorded(device, run, [&](const StepComparison& step) {
        if (!json) print_step(step);
    });
    if (json) {
        write_json(as_json(device, found));
        return found.passed;
    }
    print_worst("gradients of the first step", found.gradient);
    if (found.first_parameter) print_worst("parameters after the first step", *found.first_parameter);
    print_worst("parameters after the last step", found.parameter);
    if (found.not_compared > 0) print_line("{} gradients are not in the recorded run", found.not_compared);
    print_line("{}", found.passed ? "passed" : "failed");
    return found.passed;
}

}  // namespace vantage::cli
