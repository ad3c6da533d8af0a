// Measures the kernels of ops, relative to the roofs of the device.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/shapes.h"
#include "runtime/measure/measure.h"

namespace vantage::internal {

struct OpsBenchOptions {
    std::string kernel;         ///< only kernels of this name; empty: all that fit
    std::size_t repeats = 5;    ///< minimum number of samples per kernel
    double seconds = 0.25;      ///< sampling time per kernel; longer if `repeats` samples take longer
    double longest_case = 5;    ///< seconds; cases that take longer at the roof are skipped
    double longest_kernel = 5;  ///< the same for a kernel, predicted from its efficiency on a smaller case
    double patience = 20;       ///< seconds per kernel; fewer than `repeats` samples if they would take longer
    double budget = 0;          ///< seconds in total; later cases are skipped. 0: no limit
};

/// The roof that bounds a call, and the minimum time for the call.
struct RoofOfCall {
    std::string bound;  ///< "memory", "f32", "f16", "int8", "matrix"
    double seconds = 0;
    double roof = 0;  ///< 10^9 operations or bytes per second
};
/// Considers memory traffic and the arithmetic of the fastest unit that any eligible kernel uses.
RoofOfCall roof_of(const BenchCase& one, const Roofs& roofs, const Caps& caps);

/// Adds one row to a report for each kernel of each case, and for each case that is skipped or fails.
class OpsBench {
public:
    /// `progress` is called before each case. It may throw to stop.
    using Progress = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;
    OpsBench(const Device& device, const Roofs& roofs, OpsBenchOptions options, Report& report, Progress progress = {});

    void run(std::span<const BenchCase> cases);
    /// Number of cases and kernels with an error instead of figures, and the kind of the first error.
    std::size_t failures() const { return failures_; }
    ErrorKind first_failure() const { return first_failure_; }

private:
    struct Timed {
        const Kernel* kernel;
        Measurement time;
        ReportRow* row;
    };
    void run_case();
    bool survives(const Kernel* kernel, const std::function<void()>& action);
    void measure_case(const std::vector<const Kernel*>& kernels, MeasuredCall& call);
    Measurement measure(MeasuredCall& call, const Kernel& kernel) const;
    std::string why_skip(const Kernel* kernel) const;
    ReportRow& add_row(const Kernel* kernel, const Measurement& time);
    ReportRow& row_of(const Kernel* kernel);
    void flag_choice(std::vector<Timed>& timed);
    double seconds_left() const;

    const Device& device_;
    const Roofs& roofs_;
    OpsBenchOptions options_;
    Report& report_;
    Progress progress_;
    double begin_;
    const BenchCase* case_ = nullptr;  ///< the present one
    RoofOfCall roof_;                  ///< of the case
    const Kernel* chosen_ = nullptr;   ///< the kernel that plans choose for the case
    double case_end_ = 0;              ///< when the case has used up its share of the budget
    std::size_t failures_ = 0, out_of_time_ = 0;
    double largest_share_ = 0;  ///< of a roof, in percent
    ErrorKind first_failure_ = ErrorKind::failure;
    std::map<const Kernel*, double> slowness_;  ///< measured time / time at the roof, in the last case
};

}  // namespace vantage::internal
