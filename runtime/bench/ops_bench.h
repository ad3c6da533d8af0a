// Measures the kernels of ops and holds them against the device's roofs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/shapes.h"
#include "runtime/measure/measure.h"

namespace vantage {

struct OpsBenchOptions {
    std::string kernel;         ///< only kernels of this name; empty: all that fit
    std::size_t repeats = 5;    ///< samples of a kernel at the least
    double seconds = 0.25;      ///< of samples of a kernel; `repeats` of them even where that takes longer
    double longest_case = 5;    ///< seconds: what the roofs say will take longer is skipped
    double longest_kernel = 5;  ///< the same for a kernel, by how far from the roof it was in a smaller case
    double patience = 20;  ///< seconds for the samples of a kernel: fewer than `repeats` where these would take longer
    double budget = 0;     ///< seconds for everything; what is left then is skipped. 0: no end
};

/// Which roof is the lowest over a call, and the time in which the device could do it.
struct RoofOfCall {
    std::string bound;  ///< "memory", "f32", "f16", "int8", "matrix"
    double seconds = 0;
    double roof = 0;  ///< 10^9 operations or bytes a second
};
/// Over memory traffic and the arithmetic of the fastest unit that a kernel uses which fits the call on such a device.
RoofOfCall roof_of(const BenchCase& one, const Roofs& roofs, const Caps& caps);

/// Adds a row for each kernel of each case to a report, and for each case that is skipped or fails.
class OpsBench {
public:
    /// `progress` is told what is measured now, and may throw to end everything.
    using Progress = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;
    OpsBench(const Device& device, const Roofs& roofs, OpsBenchOptions options, Report& report, Progress progress = {});

    void run(std::span<const BenchCase> cases);
    /// Cases and kernels that have an error in place of figures, and of what kind the first was.
    std::size_t failures() const { return failures_; }
    ErrorKind first_failure() const { return first_failure_; }

private:
    struct Timed {
        const Kernel* kernel;
        Measurement time;
        ReportRow* row;
    };
    void run_case(const BenchCase& one);
    bool survives(const BenchCase& one, const Kernel* kernel, bool chosen, const std::function<void()>& action);
    void measure_case(const BenchCase& one, const RoofOfCall& roof, const std::vector<const Kernel*>& kernels,
                      MeasuredCall& call);
    Measurement measure(MeasuredCall& call, const Kernel& kernel) const;
    std::string why_skip(const Kernel& kernel, bool chosen, const RoofOfCall& roof) const;
    ReportRow& add_row(const BenchCase& one, const RoofOfCall& roof, const Kernel& kernel, bool chosen,
                       const Measurement& time);
    ReportRow& row_of(const BenchCase& one);
    void row_without_figures(const BenchCase& one, const Kernel* kernel, bool chosen, const std::string& why);
    void flag_choice(const BenchCase& one, const Kernel* chosen, std::vector<Timed>& timed);
    double seconds_left() const;

    const Device& device_;
    const Roofs& roofs_;
    OpsBenchOptions options_;
    Report& report_;
    Progress progress_;
    double begin_, case_end_ = 0;  ///< case_end_: when the case has used its share of the budget
    std::size_t failures_ = 0, out_of_time_ = 0;
    ErrorKind first_failure_ = ErrorKind::failure;
    std::map<const Kernel*, double> slowness_;  ///< measured time over the roof's, in the last case
};

}  // namespace vantage
