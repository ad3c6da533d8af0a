// A graph made ready for one device and recorded: write inputs, run, read outputs.
//
// Threads: one at a time for a plan; plans of one device may run in many threads. run(), wait(), read() and write()
// block until the device is done, others while kernels are compiled.
// Errors: as said below. After an error of run() or wait() the plan has no outputs until a run succeeds; inputs and
// weights stay.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vantage/array.h"
#include "vantage/device.h"
#include "vantage/graph.h"

namespace vantage {

// vulkan.h, for programs that share memory or order work with Vulkan of their own
struct BufferView;
class SharedBuffer;
struct After;
struct TimelinePoint;

namespace internal {
struct NodeDump;
struct PlanAccess;
}  // namespace internal

/// What the last bits of a row's results may depend on beside the row: kernels add in different orders.
enum class Stability : std::uint8_t {
    none,   ///< anything: the fastest kernels are taken
    cache,  ///< not the size of caches: tuning tables do not choose the kernel of attention
    rows,   ///< nor the number of rows: the kernels of few rows take any number, and no tuning table is read
};

struct CompileOptions {
    /// Merges nodes into fewer kernels. VANTAGE_DISABLE_FUSION turns it off, too.
    bool fuse = true;
    /// Times every dispatch (Plan::timings).
    bool profile = false;
    /// No two values share memory.
    bool keep_all = false;
    /// Checks the free space around every value after each run, and fills the arena with NaN before it. VANTAGE_GUARD=1
    /// turns it on for every plan (tests).
    bool guard = false;
    /// Matrix products may round their operands to f16; sums of more than 8 products are f32.
    bool f16_operands = false;
    /// Rows that meet weights in q8_0 or q4_0 may be rounded to 8 bits, in blocks of 32.
    bool int8_operands = false;
    Stability stability = Stability::none;
    /// Takes the kernel of this name wherever an op has it and it fits.
    std::string kernel = {};
    /// A run that takes longer is cut into several submissions: no watchdog ends it, and other programs get their turn.
    double submission_seconds = 0.1;
};

/// One dispatch of the last run, on the device's clock.
struct DispatchTiming {
    /// "h.3.matmul/tiled": scope, op and kernel.
    std::string label = {};
    std::uint64_t begin_ns = 0, end_ns = 0;
    /// "matmul", "tiled"; empty where the runtime itself dispatches.
    std::string op = {}, kernel = {};
    /// Which layer: the scope ("h.3"), else the first weight that the node reads ("w1"), else the output that it
    /// computes.
    std::string layer = {};
    /// Dispatches that would take longer than a submission may are cut: this is part `part` of `parts`.
    std::uint32_t part = 0, parts = 1;
    /// Arithmetic and minimum traffic of this part, as OpDef::cost counts them.
    double flops = 0, bytes_read = 0, bytes_written = 0;
    /// On the host's clock, before the submission.
    double submitted_seconds = 0;
    double seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
};

/// A node whose result differs from its reference, as found by Plan::check, or is not finite (find_not_finite).
struct Divergence {
    std::string node = {}, kernel = {};
    /// "y[4,1600] got 0.1033, want 0.0933: off by 0.01, allowed 2.2e-05; 1 of 8005 elements wrong"
    std::string message = {};
    /// The node's call, operands and results.
    std::shared_ptr<const internal::NodeDump> ran = {};

    /// Writes the call with its operands, results, kernel, shader modules and device to a folder, which must be new or
    /// empty: `vantage replay` runs it again. Throws bad_file, and unsupported for a custom kernel.
    void dump(const std::string& folder) const;
};

/// A compiled graph. Owns the memory of intermediates, inputs, weights and states, except what is bound to other
/// memory.
///
/// Values are named by their name in the graph, or by their Tensor: inputs, weights and states, and for `read` also
/// outputs. Where an output has the name of another value, `read` and `buffer` take the output, and functions that
/// write take the other. Functions throw usage for a name that no value has, for a tensor of another graph, and after
/// the plan was moved from.
///
/// Threads: one at a time. The same inputs give the same bits on the same device, with the same driver, options and
/// tuning tables.
class Plan {
public:
    /// Throws out_of_memory with the numbers, unsupported when the driver refuses a pipeline (naming module and
    /// constants), device_lost.
    Plan(Graph graph, const Device& device, const CompileOptions& options = {});
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;

    /// Sets a value: as many elements as it has. Floats are rounded to the storage type. A weight that the plan keeps
    /// transposed is given as the graph declared it. Throws usage for another number of elements (naming both), and for
    /// a value that nothing that runs reads.
    void write(const std::string& name, std::span<const float> values);
    void write(const std::string& name, std::span<const std::int32_t> values);
    void write(const std::string& name, std::initializer_list<float> values) {
        write(name, std::span<const float>(values.begin(), values.size()));
    }
    void write(const std::string& name, std::initializer_list<std::int32_t> values) {
        write(name, std::span<const std::int32_t>(values.begin(), values.size()));
    }
    void write(const Tensor& tensor, std::span<const float> values);
    void write(const Tensor& tensor, std::span<const std::int32_t> values);
    void write(const Tensor& tensor, std::initializer_list<float> values) {
        write(tensor, std::span<const float>(values.begin(), values.size()));
    }
    void write(const Tensor& tensor, std::initializer_list<std::int32_t> values) {
        write(tensor, std::span<const std::int32_t>(values.begin(), values.size()));
    }
    /// An Array of the value's shape: throws usage for another shape.
    void write(const std::string& name, const Array& values);
    /// Bytes in the storage type. Throws usage also for a quantized weight that the plan keeps transposed, as does
    /// read_bytes: its blocks lie along the other axis.
    void write_bytes(const std::string& name, std::span<const std::byte> bytes);
    /// Sets all elements to one number.
    void fill(const std::string& name, double value);
    /// Weights from a safetensors file, by their names; tensors of the file that the plan does not have are ignored.
    /// Throws bad_file for a file that cannot be read or a tensor of another shape than the weight.
    void load(const std::string& path);

    /// A value widened to float (integers to their value), or a range of its first axis. Waits for what was submitted.
    /// A weight that the plan keeps transposed comes as the graph declared it. Throws usage for an output before the
    /// first run.
    Array read(const std::string& name, Range rows = {}) const;
    Array read(const Tensor& tensor, Range rows = {}) const;
    std::vector<std::byte> read_bytes(const std::string& name) const;
    /// Rows [first, first + rows) of an output only, those that it has.
    std::vector<float> read_rows(const std::string& name, std::int64_t rows, std::int64_t first = 0) const;

    /// Lets an input, a weight or a state use memory that exists, in place of memory of its own: another plan's
    /// (second.bind("h", first.buffer("h"))), or a buffer of the program. The plan keeps a Vantage buffer alive; memory
    /// that the program made must outlive the plan. Throws usage for a computed value, memory that is too small or not
    /// aligned to 16 bytes, memory of another device, memory that another value of this plan has, and for a weight that
    /// the plan keeps transposed (fill it with `write`). Include vulkan.h.
    void bind(const std::string& name, const BufferView& memory);
    void bind(const std::string& name, const SharedBuffer& memory);
    /// Where a value lies on the device: an output's memory holds it from a run to the next. Throws usage for a weight
    /// that the plan keeps transposed. Include vulkan.h.
    BufferView buffer(const std::string& name) const;
    /// Where the host reads and writes a state that was declared host_visible, also while the device works on others of
    /// its elements. Throws usage for another value.
    std::byte* host_memory(const std::string& name) const;

    /// Runs everything and waits. Throws usage naming all inputs and weights that were never written, device_lost when
    /// the device is lost or does not answer in time (VANTAGE_TIMEOUT), interrupted after Ctrl-C where the program
    /// catches it, and with `guard` failure naming what a kernel wrote where it must not.
    void run();
    /// Submits the segments named by their indices in order, and returns what `wait` takes. Nothing is recorded or
    /// allocated after the first time. Runs that take long are cut into several submissions.
    /// `filled`: which part of its caches holds keys after the run, where that is known; where to cut depends on it.
    std::uint64_t submit(std::span<const int> segments, double filled = 1);
    /// Submits everything, to begin on the device when all points of `after` are reached, and returns the point at
    /// which it is done: plan.submit(after(point)). Never waits on the host, so the points may be signalled later;
    /// until then all work submitted to this device afterwards waits, too. Such a run is not checked by `guard`.
    /// Throws usage for a null semaphore. Include vulkan.h.
    TimelinePoint submit(const After& after);
    /// Waits for what `submit` returned (of a TimelinePoint its value). Throws as `run`.
    void wait(std::uint64_t ticket);

    /// Runs everything node by node and compares the results with the ops' references, until `max_count` differ.
    std::vector<Divergence> check(std::size_t max_count = 1);
    /// Runs everything node by node, until a node's result has a NaN or an infinity. The -inf of an attention's
    /// log-sum-exp, whose row sees no key, is none.
    std::optional<Divergence> find_not_finite();
    /// Dispatch times of the last submission, with CompileOptions::profile.
    const std::vector<DispatchTiming>& timings() const;

    /// The graph as it was compiled: nodes are fused, value ids are those of the graph that was given.
    const Graph& graph() const;
    /// What fusion merged, one line each.
    const std::vector<std::string>& fused() const;
    const Device& device() const;
    /// Bytes of the arena, which holds the intermediates.
    std::uint64_t arena_bytes() const;

private:
    friend struct internal::PlanAccess;
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    State& state() const;
    std::unique_ptr<State> state_;
};

/// Fuses, chooses kernels, places memory, sets barriers; pipelines are made and commands recorded here or at the first
/// run. The graph stays as it is and may be compiled again, for another device.
inline Plan compile(const Graph& graph, const Device& device, const CompileOptions& options = {}) {
    return Plan(graph.copy(), device, options);
}

}  // namespace vantage
