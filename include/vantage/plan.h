// A graph made ready for one device and recorded: write inputs, run, read outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vantage/device.h"
#include "vantage/graph.h"

namespace vantage {

struct Bindings;  // device memory by value name, shared between plans: weights, states (runtime/exec/bindings.h)
struct Schedule;

struct CompileOptions {
    bool fuse = true;       ///< VANTAGE_DISABLE_FUSION turns it off, too
    bool profile = false;   ///< time every dispatch (Plan::timings)
    bool keep_all = false;  ///< no two values share memory
    bool guard = false;     ///< free space around every value is watched, and the arena is full of NaN before each run;
                            ///< VANTAGE_GUARD=1 turns it on for every plan (tests)
    bool f16_operands = false;   ///< products may be those of f16, in matrix units or not; sums of more than 8 are f32
    bool int8_operands = false;  ///< rows that meet quantised weights may be rounded to 8 bits, by blocks of 32
    std::string kernel;          ///< take the kernel of this name wherever an op has it and it fits
    double submission_seconds = 0.1;  ///< longer runs are cut: no watchdog ends them, others get their turn
};

/// One dispatch of the last run, on the device's clock.
struct DispatchTiming {
    std::string label;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::string op, kernel;  ///< "matmul", "tiled"; empty where the runtime itself dispatches
    double flops = 0, bytes_read = 0, bytes_written = 0;  ///< arithmetic and least traffic, as OpDef::cost counts them
    double submitted_seconds = 0;                         ///< on the host's clock, before the submission
    double seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
};

/// A node whose result is not what its reference says, as found by Plan::check.
struct Divergence {
    std::string node, kernel;
    std::string
        message;  ///< "y[4,1600] got 0.1033, want 0.0933: off by 0.01, allowed 2.2e-05; 1 of 8005 elements wrong"
};

/// Owns the intermediates' memory and the recordings, and that of weights and states that are not bound.
class Plan {
public:
    /// Throws out_of_memory with the numbers, unsupported when the driver refuses a pipeline (naming module and constants),
    /// device_lost.
    Plan(Graph graph, const Device& device, const CompileOptions& options = {},
         std::shared_ptr<const Bindings> bindings = {});
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;

    /// Inputs, weights and states by name; as many elements as the value has. Floats are rounded to the storage type.
    /// A packed weight is written as the checkpoint has it and turned here. Throws usage for a name that nothing has, or a
    /// value that nothing that runs reads, and for another number of elements (naming both).
    void write(const std::string& name, std::span<const float> values);
    void write(const std::string& name, std::span<const std::int32_t> values);
    void write_bytes(const std::string& name, std::span<const std::byte> bytes);
    /// Outputs, states and inputs by name, widened to float (integers to their value). Waits for what was submitted; throws
    /// usage for a name that nothing has.
    std::vector<float> read(const std::string& name) const;
    std::vector<std::byte> read_bytes(const std::string& name) const;
    /// Rows [first, first + rows) of an output only, those that it has.
    std::vector<float> read_rows(const std::string& name, std::int64_t rows, std::int64_t first = 0) const;

    /// Runs everything and waits. Throws device_lost when the device is lost or does not answer in time (VANTAGE_TIMEOUT), and
    /// interrupted after Ctrl-C where the program catches it; with `guard`, failure naming what a kernel wrote where it
    /// must not.
    void run();
    /// Submits the segments named by their indices in order, and returns what `wait` takes. Nothing is recorded or
    /// allocated after the first time. Runs that last long are cut into several submissions.
    /// `filled`: which part of its caches holds keys after the run, where that is known; where to cut depends on it.
    std::uint64_t submit(std::span<const int> segments, double filled = 1);
    void wait(std::uint64_t ticket);  ///< throws as `run`

    /// Runs node by node and compares each result with the op's reference; returns the first `most` that differ.
    std::vector<Divergence> check(std::size_t max_count = 1);
    /// Dispatch times of the last submission, with CompileOptions::profile.
    const std::vector<DispatchTiming>& timings() const;

    const Graph& graph() const;
    const Schedule& schedule() const;
    const std::vector<std::string>& fused() const;
    const Device& device() const;
    /// Bytes of the arena, and what it would be without sharing.
    std::uint64_t arena_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Fuses, chooses kernels, places memory, sets barriers; pipelines are made and commands recorded here or at the first run.
/// The graph stays as it is and may be compiled again, for another device.
inline Plan compile(const Graph& graph, const Device& device, const CompileOptions& options = {}) {
    return Plan(graph.copy(), device, options);
}

}  // namespace vantage
