#include "runtime/bench/model_bench.h"
#include "runtime/session/model_access.h"

#include <algorithm>
#include <random>

#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/options.h"
#include "runtime/bench/energy.h"
#include "runtime/gpu/device_state.h"
#include "runtime/measure/measure.h"
#include "runtime/models/config.h"

namespace vantage::internal {

namespace {

/// Maximum number of tokens of a sequence.
std::int64_t context_of(const ModelTest& test, ModelKind kind) {
    return test.prompt && kind != ModelKind::decoder ? test.tokens : test.context();
}

/// The sequences of a test. All have the same tokens.
class TimedBatch {
public:
    TimedBatch(const Model& model, const ModelTest& test, const SessionOptions& options)
        : test_(test), kind_(config_of(model).kind), batch_(model, test.sequences, options) {
        std::mt19937 random(1);
        std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(model.info().vocab - 1));
        ids_.resize(static_cast<std::size_t>(test.depth + std::max<std::int64_t>(test.tokens, 1)));
        std::ranges::generate(ids_, [&] { return any(random); });
        batch_.restart({.ignore_end = true});
        if (test.depth == 0) return;
        append(0, test.depth);
        batch_.run();
    }

    /// Runs the test from the current state and returns seconds.
    double run() {
        for (std::int64_t i = 0; i < test_.sequences; ++i) batch_[i].rewind(test_.depth);
        const double begin = seconds_now();
        if (kind_ == ModelKind::encoder_decoder)
            for (std::int64_t i = 0; i < test_.sequences; ++i)
                batch_[i].set_source(first(0, test_.prompt ? test_.tokens : 1));
        else
            append(test_.depth, test_.prompt ? test_.tokens : 1);
        if (kind_ == ModelKind::encoder)
            batch_.run();
        else
            for (std::int64_t drawn = 0; drawn < (test_.prompt ? 1 : test_.tokens); ++drawn) batch_.next();
        return seconds_now() - begin;
    }
    Batch& batch() { return batch_; }

private:
    std::span<const std::int32_t> first(std::int64_t from, std::int64_t count) const {
        return std::span(ids_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count));
    }
    void append(std::int64_t from, std::int64_t count) {
        for (std::int64_t i = 0; i < test_.sequences; ++i) batch_[i].append(first(from, count));
    }

    ModelTest test_;
    ModelKind kind_;
    Batch batch_;
    std::vector<std::int32_t> ids_;
};

}  // namespace

std::string ModelTest::name() const {
    std::string text = (prompt ? "pp" : "tg") + std::to_string(tokens);
    if (depth > 0) text += " @ d" + std::to_string(depth);
    if (sequences > 1) text += " x" + std::to_string(sequences);
    return text;
}

Spread ModelTimes::tokens_per_second() const {
    std::vector<double> rates;
    for (const double one : seconds) rates.push_back(tokens / one);
    return mean_of(rates);
}

double ModelTimes::median() const { return tokens / measurement_of(seconds).median; }

void require_possible(const Model& model, const ModelTest& test) {
    const ModelKind kind = config_of(model).kind;
    const std::string who = model.info().name + " (" + model.info().architecture + ")";
    if (config_of(model).sees()) throw usage_error(who + " is a vision model: there are no tokens to count");
    if (kind == ModelKind::encoder && !test.prompt)
        throw usage_error(test.name() + ": " + who + " is an encoder, which does not generate tokens");
    if (kind != ModelKind::decoder && test.depth > 0)
        throw usage_error(test.name() + ": " + who + " reads its text in one piece, with nothing before it");
    if (const std::int64_t context = context_of(test, kind); context > model.info().context)
        throw usage_error("{} needs a context of {} tokens, but {} supports at most {}", test.name(), context,
                          model.info().name, model.info().context);
}

ModelTimes time_model(const Model& model, const ModelTest& test, SessionOptions options, int repeats) {
    require_possible(model, test);
    options.context = context_of(test, config_of(model).kind);
    ModelTimes times;
    gpu::DeviceState& device = model.device().state();
    device.memory.max_held = device.memory.held.load();
    const double begin = seconds_now();
    TimedBatch timed(model, test, options);
    timed.run();
    times.compile_seconds = seconds_now() - begin;
    times.tokens = static_cast<double>(test.tokens * test.sequences);
    const SessionStats before = timed.batch().stats();
    const std::clock_t cpu = std::clock();
    EnergyMeter energy(model.device().caps(), environment("VANTAGE_SYSFS").value_or("/sys"));
    for (int i = 0; i < repeats; ++i) times.seconds.push_back(timed.run());
    times.cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / repeats;
    times.joules = energy.joules() / repeats;
    times.energy_source = energy.source();
    const SessionStats& after = timed.batch().stats();
    times.host_seconds =
        (after.host_seconds - before.host_seconds) /
        static_cast<double>(std::max<std::int64_t>(after.generated_tokens - before.generated_tokens, 1));
    times.peak_bytes = device.memory.max_held;
    times.dispatches = timed.batch().take_timings();
    return times;
}

}  // namespace vantage::internal
