#include "runtime/measure/tune.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/compare.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

namespace {

constexpr int rounds = 3;
constexpr double hopeless = 3;  // times the fastest kernel: slower ones are not measured again, except the default

double work_of(const OpCall& call) {
    if (call.op->cost == nullptr) return 0;
    const Cost cost = call.op->cost(call);
    return std::max(cost.flops, cost.bytes_read + cost.bytes_written);
}

class Tuner {
public:
    Tuner(const Device& device, const OpCall& call, const TuneOptions& options)
        : options_(options), measured_(device, call, options.keys) {
        result_.default_kernel = result_.chosen = choose_kernel(measured_.call(), device.caps());
        for (const Kernel& kernel : call.op->kernels)
            if (eligible(kernel, measured_.call(), device.caps())) candidates_.push_back(&kernel);
    }

    TunedResult find() {
        reject_wrong_ones();
        std::map<const Kernel*, std::vector<double>> samples;
        for (int round = 0; round < rounds; ++round) {
            measure_round(samples);
            drop_hopeless(samples);
        }
        for (auto& [kernel, taken] : samples) result_.times[kernel] = measurement_of(std::move(taken));
        choose();
        return std::move(result_);
    }

private:
    // A kernel that fails is excluded. An error of the device ends the measurement.
    template <class Action>
    bool survives(const Kernel& kernel, Action action) {
        try {
            action();
            return true;
        } catch (const Error& error) {
            if (!is_of_one_kernel(error.kind())) throw;
            reject(kernel, error.what());
            return false;
        }
    }
    void reject(const Kernel& kernel, const std::string& reason) {
        result_.notes.push_back(format("{}/{} is not chosen: {}", measured_.call().op->name, kernel.name, reason));
    }

    // Excludes kernels whose results differ from the reference: the op's last kernel, the simplest one, or the default
    // if that takes too long.
    void reject_wrong_ones() {
        const Kernel& reference =
            work_of(measured_.call()) > options_.max_reference_work ? *result_.default_kernel : *candidates_.back();
        std::vector<HostTensor> want;
        if (!survives(reference, [&] { want = measured_.results(reference); })) {
            candidates_ = {result_.default_kernel};  // without a reference there is no choice
            return;
        }
        std::erase_if(candidates_, [&](const Kernel* kernel) {
            return kernel != &reference && !survives(*kernel, [&] {
                       const std::vector<HostTensor> got = measured_.results(*kernel);
                       for (std::size_t i = 0; i < want.size(); ++i)
                           if (const Comparison c = compare(format("result {}", i), got[i], want[i],
                                                            measured_.call().op->tolerance, measured_.call().attrs);
                               !c.passed)
                               throw Error(ErrorKind::failure,
                                           format("its results differ from those of {}: ", reference.name) + c.message);
                   });
        });
    }

    void measure_round(std::map<const Kernel*, std::vector<double>>& samples) {
        std::erase_if(candidates_, [&](const Kernel* kernel) {
            return !survives(*kernel, [&] {
                const bool gives_up = kernel != result_.default_kernel;
                const Measurement m = measured_.measure(*kernel, {.seconds = options_.seconds / rounds,
                                                                  .min_samples = 1,
                                                                  .hopeless = gives_up ? hopeless * fastest_ : 0});
                samples[kernel].insert(samples[kernel].end(), m.samples.begin(), m.samples.end());
                fastest_ = fastest_ > 0 ? std::min(fastest_, m.median) : m.median;
            });
        });
    }

    void drop_hopeless(const std::map<const Kernel*, std::vector<double>>& samples) {
        std::erase_if(candidates_, [&](const Kernel* kernel) {
            return kernel != result_.default_kernel && measurement_of(samples.at(kernel)).median > hopeless * fastest_;
        });
    }

    // A default kernel that is wrong or fails stays the choice: tests must find this, and a table must not hide it.
    void choose() {
        const auto default_time = result_.times.find(result_.default_kernel);
        if (default_time == result_.times.end()) return;
        const auto time_of = [](const auto& measured) {
            const Measurement& m = measured.second;
            return KernelTime{m.median, m.lower_quartile, m.upper_quartile};
        };
        const auto best = std::ranges::min_element(result_.times, {}, [](const auto& m) { return m.second.median; });
        if (faster_beyond_noise(time_of(*best), time_of(*default_time))) result_.chosen = best->first;
        result_.entry.kernel = result_.chosen->name;
        for (const Kernel& kernel : measured_.call().op->kernels) {
            if (!measured_.fits(kernel)) continue;
            std::optional<double>& seconds = result_.entry.seconds[kernel.name];
            if (const auto found = result_.times.find(&kernel); found != result_.times.end())
                seconds = found->second.median;
        }
    }

    TuneOptions options_;
    MeasuredCall measured_;
    TunedResult result_;
    std::vector<const Kernel*> candidates_;
    double fastest_ = 0;  // median of a round, seconds
};

}  // namespace

void add_calls(std::vector<ModelCall>& calls, const Graph& graph, std::int64_t rows) {
    for (const int index : live_nodes(graph)) {
        const OpCall call = call_of(graph, at(graph.nodes(), index));
        const std::string key = tuning_key(call);
        auto found = std::ranges::find(calls, key, &ModelCall::key);
        if (found == calls.end()) found = calls.insert(found, {.key = key, .call = call, .times = {}});
        ++found->times[rows];
    }
}

TunedResult tune_call(const Device& device, const OpCall& call, const TuneOptions& options) {
    return Tuner(device, call, options).find();
}

}  // namespace vantage::internal
