// Measures the time of kernels for one call on a device, for benchmarks and tuning.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/op_def.h"
#include "vantage/device.h"
#include "vantage/error.h"

namespace vantage::internal {

struct MeasureOptions {
    double seconds = 0.25;  ///< device time of all samples, without the warm-up
    std::size_t min_samples = 3,
                max_samples = 100;  ///< `min_samples` are taken even if they take longer than `seconds`
    double hopeless = 0;            ///< seconds; no further samples if the first warm run takes longer. 0: no limit
};

/// Device time in seconds for one run of a kernel: all of its dispatches, without the submission.
struct Measurement {
    std::vector<double> samples;       ///< in the order of measurement
    double median = 0, deviation = 0;  ///< deviation: the median of |sample - median|
    double min = 0, lower_quartile = 0, upper_quartile = 0, max = 0;
    bool device_clock =
        true;  ///< false: host clock, including a share of the submission, because the queue has no timestamps
    std::size_t dispatches = 0;
};
/// Median, quartiles, … of samples. There must be at least one.
Measurement measurement_of(std::vector<double> samples);

/// Whether an error concerns only the measured kernel, so that others can be measured: not a lost device, not Ctrl-C.
inline bool is_of_one_kernel(ErrorKind kind) {
    return kind == ErrorKind::failure || kind == ErrorKind::unsupported || kind == ErrorKind::out_of_memory;
}

/// A call with its operands in device memory. They are filled once for all kernels.
class MeasuredCall {
public:
    /// Its step is at the end of `keys` rows of the cache (0: a full cache). Infers the results if `call` has none.
    /// Throws out_of_memory, before allocating, if operands and results do not fit.
    MeasuredCall(const Device& device, OpCall call, std::int64_t keys = 0);
    ~MeasuredCall();
    MeasuredCall(MeasuredCall&&) noexcept;

    /// Whether the kernel is eligible for the call on this device.
    bool fits(const Kernel& kernel) const;
    /// Takes samples, after a warm-up if the kernel is measured for the first time (drivers may compile late). Short
    /// kernels run several times per submission. Pipelines and memory are kept for further calls. Throws out_of_memory
    /// before allocating, interrupted after Ctrl-C, and like Plan.
    Measurement measure(const Kernel& kernel, const MeasureOptions& options = {});
    /// Results of one run on the original operands. Of results with more than `max_elements` elements, returns ranges
    /// that are the same for every kernel.
    std::vector<HostTensor> results(const Kernel& kernel, std::size_t max_elements = std::size_t{1} << 20);

    const OpCall& call() const;
    /// Bytes of all operands and results.
    std::uint64_t bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::internal
