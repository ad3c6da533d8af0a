// Times kernels of one call on a device: for the benchmark and for tuning.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "vantage/device.h"
#include "vantage/error.h"
#include "vantage/op.h"

namespace vantage {

struct MeasureOptions {
    double seconds = 0.25;                           ///< of the device's time, for samples; the warm-up comes on top
    std::size_t min_samples = 3, max_samples = 100;  ///< samples: `min_samples` of them even where they take longer
    double hopeless = 0;  ///< seconds: a kernel whose first warm run takes longer gets no further samples; 0 = never
};

/// Seconds of the device for one run of a kernel: all of its dispatches, without the submission.
struct Measurement {
    std::vector<double> samples;       ///< in the order in which they were taken
    double median = 0, deviation = 0;  ///< deviation: the median of |sample - median|
    double min = 0, lower_quartile = 0, upper_quartile = 0, max = 0;
    bool device_clock = true;  ///< false: a queue without timestamps; the host's clock, with a share of the submission
    std::size_t dispatches = 0;
};
/// The figures of these samples, of which there is one at least.
Measurement measurement_of(std::vector<double> samples);

/// Whether an error is of the kernel that was measured alone, so that others can still be: not of the device, nor Ctrl-C.
inline bool is_of_one_kernel(ErrorKind kind) {
    return kind == ErrorKind::failure || kind == ErrorKind::unsupported || kind == ErrorKind::out_of_memory;
}

/// What stands in operand `i` of a measured call: bytes that are repeated until it is full, a whole number of its elements.
using OperandFill = std::function<std::vector<std::byte>(const OpCall& call, int i)>;
/// Numbers that are valid and usual for the operand, by its name: ids within the table, a step that runs its rows at the end of
/// `keys` rows of the cache (0 = a full one), choices that are even among experts, floats about 0 of such a size that sums stay
/// near 1.
OperandFill default_operands(std::int64_t keys = 0);

/// A call with its operands in device memory, filled once for all kernels that are measured.
class MeasuredCall {
public:
    /// Results are inferred where `call` has none. Throws out_of_memory before anything is allocated when operands and
    /// results cannot fit.
    MeasuredCall(const Device& device, OpCall call, const OperandFill& fill = default_operands());
    ~MeasuredCall();
    MeasuredCall(MeasuredCall&&) noexcept;

    /// Whether the device provides what the kernel needs and it fits the call.
    bool fits(const Kernel& kernel) const;
    /// Warms up when the kernel is measured for the first time (drivers compile late), then takes samples; short kernels run
    /// many times in one submission. What a kernel needs is kept for further calls. Throws out_of_memory before
    /// allocating, interrupted after Ctrl-C, and as Plan does.
    Measurement measure(const Kernel& kernel, const MeasureOptions& options = {});
    /// One run from the operands as they were filled: its results, or of long ones `most` elements in some stretches that
    /// are the same for every kernel.
    std::vector<HostTensor> results(const Kernel& kernel, std::size_t max_elements = std::size_t{1} << 20);

    const OpCall& call() const;
    /// Bytes of operands and results.
    std::uint64_t bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// One kernel of one call: MeasuredCall, once.
Measurement measure(const Device& device, const OpCall& call, const Kernel& kernel, const MeasureOptions& options = {},
                    const OperandFill& fill = default_operands());

}  // namespace vantage
