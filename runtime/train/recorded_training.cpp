#include "runtime/train/recorded_training.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal {

namespace {

class Repeated {
public:
    Repeated(const Device& device, const RecordedRun& run, const TrainingSettings& settings)
        : run_(run), step_(build_training_step(run.config(), settings)), plan_(compile(step_.graph, device)) {
        for (const Value& value : step_.graph.values()) {
            if (value.kind != ValueKind::state && value.kind != ValueKind::weight) continue;
            if (const auto values = run.initial(value))
                plan_.write(value.name, *values);
            else if (value.kind == ValueKind::weight)
                throw bad_file_error("the run has no initial {}", value.name);
            else
                plan_.fill(value.name, 0);
        }
        plan_.write(train_names::train, first_train_words(settings));
    }

    StepComparison step(std::int64_t number) {
        for (std::int64_t micro = 0; micro < run_.micro_batches(); ++micro) {
            write(run_.batch(number, micro));
            plan_.wait(plan_.submit(step_.micro_batch));
        }
        plan_.wait(plan_.submit(std::span(&step_.update, 1)));
        const Array record = plan_.read(train_names::history, {.first = number % TRAIN_HISTORY, .count = 1});
        StepComparison found{.step = number, .loss = record.data()[1], .norm = record.data()[2]};
        found.loss_error = std::abs(found.loss - run_.loss(number));
        found.norm_error = std::abs(found.norm / run_.norm(number) - 1);
        const TrainingTolerance& allowed = run_.tolerance();
        found.passed =
            found.loss_error <= (number < 3 ? allowed.loss : allowed.later_loss) && found.norm_error <= allowed.norm;
        return found;
    }

    void compare_gradients(TrainingComparison& found) {
        const TrainingTolerance& allowed = run_.tolerance();
        std::int64_t compared = 0;
        for (const Value& parameter : step_.parameters) {
            const auto want = run_.gradient(parameter);
            if (!want) {
                ++found.not_compared;
                continue;
            }
            ++compared;
            const double largest = std::abs(*std::ranges::max_element(*want, {}, [](float x) { return std::abs(x); }));
            const double limit = allowed.gradients + allowed.gradients_relative * largest;
            keep_worst(
                plan_.read(train_names::gradient(parameter.name)), *want, [limit](std::size_t) { return limit; },
                parameter.name, found.gradient);
            largest_gradient_ = std::max(largest_gradient_, largest);
        }
        if (compared == 0) throw bad_file_error("the run has no gradient of a parameter of this model");
    }

    /// After so many steps: one, of which the run must have the parameters, or all.
    WorstElement compare_parameters(std::int64_t steps) {
        const bool last = steps == run_.steps();
        const TrainingTolerance& tolerance = run_.tolerance();
        const double limit = last ? tolerance.parameters : tolerance.first_parameters;
        const auto rates = std::span(run_.settings().rates).first(static_cast<std::size_t>(steps));
        const double noise_limit = limit + 2 * std::accumulate(rates.begin(), rates.end(), 0.0);
        WorstElement worst;
        for (const Value& parameter : step_.parameters) {
            const auto want = last ? run_.final(parameter) : run_.first(parameter);
            if (!want) throw bad_file_error("the run has no {} after step {}", parameter.name, steps);
            const std::vector<bool> noise = is_noise(parameter, want->size());
            keep_worst(
                plan_.read(parameter.name), *want, [&](std::size_t i) { return noise[i] ? noise_limit : limit; },
                parameter.name, worst);
        }
        return worst;
    }

private:
    // Biases whose gradient is zero in exact arithmetic, as of attention's keys. Adam divides noise by noise there, so
    // that each step may move them by its learning rate. Where most are exactly 0, as of what batches do not use, they
    // are no noise.
    std::vector<bool> is_noise(const Value& parameter, std::size_t elements) const {
        constexpr double rounding = 3e-7;
        std::vector<bool> noise(elements);
        const auto gradient = run_.gradient(parameter);
        if (!gradient || parameter.type.shape.rank() > 1) return noise;
        for (std::size_t i = 0; i < elements; ++i) noise[i] = std::abs((*gradient)[i]) <= rounding * largest_gradient_;
        const auto zeros = std::ranges::count(*gradient, 0.0F), small = std::ranges::count(noise, true);
        return 2 * zeros < small ? noise : std::vector<bool>(elements);
    }

    void write(const MicroBatch& batch) {
        for (const Value& value : step_.graph.values()) {
            if (value.kind != ValueKind::input) continue;
            const auto found = batch.find(value.name);
            if (found == batch.end()) throw unsupported_error("the run has no {}, which the model reads", value.name);
            std::visit(
                [&](const auto& numbers) {
                    if (std::ssize(numbers) != value.type.shape.elements())
                        throw bad_file_error("the run has {} values of {} in a micro-batch, wanted {}", numbers.size(),
                                             value.name, value.type.shape.elements());
                    plan_.write(value.name, numbers);
                },
                found->second);
        }
    }

    // NaN is the worst of all.
    static void keep_worst(const Array& got, const std::vector<float>& want,
                           const std::function<double(std::size_t)>& allowed, const std::string& name,
                           WorstElement& worst) {
        for (std::size_t i = 0; i < want.size(); ++i) {
            const double difference = std::abs(static_cast<double>(got.data()[i]) - want[i]),
                         error = std::isnan(difference) ? INFINITY : difference;
            if (error / allowed(i) > worst.share) worst = {error, error / allowed(i), name};
        }
    }

    const RecordedRun& run_;
    TrainingStep step_;
    Plan plan_;
    double largest_gradient_ = 0;  // of the first step
};

}  // namespace

TrainingComparison compare_with_recorded(const Device& device, const RecordedRun& run,
                                         const std::function<void(const StepComparison&)>& progress,
                                         std::int64_t head_rows, bool f16) {
    TrainingSettings settings = run.settings();
    settings.head_rows = head_rows, settings.f16 = f16;
    Repeated repeated(device, run, settings);
    TrainingComparison found;
    for (std::int64_t step = 0; step < run.steps(); ++step) {
        throw_if_interrupted();
        found.steps.push_back(repeated.step(step));
        if (step == 0) repeated.compare_gradients(found);
        if (step == 0 && run.has_first() && run.steps() > 1) found.first_parameter = repeated.compare_parameters(1);
        if (progress) progress(found.steps.back());
    }
    found.parameter = repeated.compare_parameters(run.steps());
    found.passed = std::ranges::all_of(found.steps, &StepComparison::passed) && found.gradient.share <= 1 &&
                   (!found.first_parameter || found.first_parameter->share <= 1) && found.parameter.share <= 1;
    return found;
}

}  // namespace vantage::internal
