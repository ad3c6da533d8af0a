// The definition of an operation: shape rule, reference, cost, kernels and test cases. Each op is one file of
// runtime/ops and is listed in ops/registry.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/at.h"
#include "vantage/caps.h"
#include "vantage/op.h"

namespace vantage::internal {

struct KernelState;

/// Storage bytes to doubles and back; narrowing rounds to nearest even, or as base/quantize.h.
HostTensor widen(const TensorType& type, std::span<const std::byte> bytes);
std::vector<std::byte> narrow(const HostTensor& tensor);
/// `count` elements from number `first` on, [count]. `read(from, bytes)` gives bytes of the tensor's storage: of a
/// quantized type whole groups, which rows need not begin at.
HostTensor widen_part(DType type, std::int64_t first, std::int64_t count,
                      const std::function<std::vector<std::byte>(std::uint64_t, std::uint64_t)>& read);

/// Arithmetic and memory traffic of one call, for `explain` and the roofline.
struct Cost {
    double flops = 0, bytes_read = 0, bytes_written = 0;
    double bytes() const { return bytes_read + bytes_written; }
    Cost& operator+=(const Cost& other) {
        flops += other.flops, bytes_read += other.bytes_read, bytes_written += other.bytes_written;
        return *this;
    }
    bool grows_with_cache = false;  ///< counted for a full cache; scales with the filled part
};

/// What a kernel requires of a device beyond the minimum.
enum Need : std::uint32_t {
    need_nothing = 0,
    need_subgroup = 1,
    need_fp16 = 2,
    need_coopmat = 4,
    need_int8_dot = 8,
    need_int64 = 16,
    need_coopmat2 = 32,
    need_quad = 64,
    need_float_dot = 128
};
bool provides(const Caps& caps, std::uint32_t needs);

/// An output that aliases a state, if the kernel writes only a part of it or also reads it.
constexpr Operand update(int i) { return {Operand::output, static_cast<std::uint8_t>(i), Operand::reads_writes}; }
constexpr Operand scratch_out(int i) { return {Operand::scratch, static_cast<std::uint8_t>(i), Operand::writes}; }
constexpr Operand scratch_in(int i) { return {Operand::scratch, static_cast<std::uint8_t>(i), Operand::reads}; }
/// In place of an operand that the launch has not, although its shader does.
inline constexpr Operand no_operand = in(255);

/// One dispatch as data. The params struct begins with one `uvec2` address for each operand, in the order of
/// `operands`; exec fills them in (bit 0 is set for an absent operand). The launch function sets the rest.
struct Launch {
    const char* shader = nullptr;     ///< name of an embedded SPIR-V module
    std::vector<std::uint32_t> spec;  ///< values of constant_id 0, 1, 2, …
    std::vector<Operand> operands;
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    /// If not 0, the x size of the grid follows the keys in the cache: ceil(keys / keys_per_group), read from the step
    /// on the device (`step` = index of the step in `operands`). groups[0] is then the maximum.
    std::uint32_t keys_per_group = 0;
    int step = -1;
    std::uint32_t subgroup_size = 0;  ///< required subgroup size, 0 = any
    std::vector<std::byte> params;

    /// Replaces an operand, if one of several launches reads or writes scratch memory instead. Throws failure if there
    /// is none.
    Launch& replace(const Operand& operand, const Operand& other);
    template <class Params>
    Launch& with(const Params& p) {
        static_assert(sizeof(Params) <= 128, "push constants hold 128 bytes");
        params.resize(sizeof(Params));
        std::memcpy(params.data(), &p, sizeof(Params));
        return *this;
    }
};

/// The dispatches of a kernel, in order, and the sizes in bytes of the scratch buffers between them.
struct LaunchPlan {
    std::vector<Launch> launches;
    std::vector<std::uint64_t> scratch;
    LaunchPlan() = default;
    LaunchPlan(Launch launch) { launches.push_back(std::move(launch)); }
};

/// One way to run an op: a row in the op's table of kernels.
struct Kernel {
    const char* name;  ///< "plain", "subgroup", "tiled": unique within its op
    std::uint32_t needs = need_nothing;
    bool (*fits)(const OpCall&, const Caps&) = nullptr;  ///< null: `every_call`
    LaunchPlan (*launch)(const OpCall&, const Caps&) = nullptr;
    /// Whether the kernel is worth choosing if it fits; null: `always`. Tests run unprofitable kernels, too.
    bool (*profitable)(const OpCall&, const Caps&) = nullptr;
    /// matmul only: joint_linear has an equivalent kernel, so that products of the same rows can be merged into one
    /// launch.
    bool mergeable = false;
};
/// Values of Kernel::fits and Kernel::profitable that many kernels share. `loads_once`: CPU devices that load a value
/// once for all lanes; `loads_by_lane`: all other devices.
inline constexpr std::nullptr_t every_call = nullptr, always = nullptr;
inline bool on_cpu(const OpCall&, const Caps& caps) { return caps.is_cpu(); }
inline bool not_on_cpu(const OpCall&, const Caps& caps) { return !caps.is_cpu(); }
inline bool loads_once(const OpCall&, const Caps& caps) { return caps.loads_uniform_once(); }
inline bool loads_by_lane(const OpCall&, const Caps& caps) { return !caps.loads_uniform_once(); }
/// The name of a shader as the argument of a template: `launch<"entropy_subgroup">` launches this shader.
template <std::size_t size>
struct ShaderName {
    char text[size] = {};
    consteval ShaderName(const char (&name)[size]) { std::ranges::copy(name, text); }
    constexpr operator const char*() const { return text; }
};

/// Sizes and contents for a test of an op; the tests and `vantage conform` use them.
struct Case {
    enum class Fill : std::uint8_t { normal, uniform, ids, zeros, given };
    struct Input {
        /// Empty = absent operand; float types vary over f32, f16 (and bf16 for weights).
        std::optional<TensorType> type;
        Fill fill = Fill::normal;
        double low = 0, high = 1;        ///< normal: mean, deviation; uniform: range; ids: integers low ≤ i < high
        bool weight = false;             ///< tested in bf16, too
        std::vector<double> given = {};  ///< fill given
        DType quantized = DType::f32;    ///< of a weight: tested in this type, too, where it is a quantised one
        bool fixed_type = false;         ///< stays f32 when the other floats become f16 (tables, lse, partial results)
    };
    std::string name;  ///< "rows=5 cols=1601"
    Attrs attrs = {};
    std::vector<Input> inputs;
};

/// Inputs of cases: with these values, as a list of them; integers low ≤ i < high; floats, and floats of a weight.
inline Case::Input filled_with(const TensorType& type, std::vector<double> values) {
    return {.type = type, .fill = Case::Fill::given, .given = std::move(values)};
}
inline Case::Input list_of(DType type, const std::vector<double>& values) {
    return filled_with({Shape{std::ssize(values)}, type}, values);
}
inline Case::Input integers_below(const Shape& shape, std::int64_t high, double low = 0) {
    return {
        .type = TensorType{shape, DType::i32}, .fill = Case::Fill::ids, .low = low, .high = static_cast<double>(high)};
}
inline Case::Input floats(const Shape& shape) { return {.type = TensorType{shape}}; }
inline Case::Input weights(const Shape& shape) { return {.type = TensorType{shape}, .weight = true}; }
/// Floats of one type, and weights that are tested in `quants`, too.
inline Case::Input floats_of(DType type, const Shape& shape) {
    return {.type = TensorType{shape, type}, .fixed_type = true};
}
inline Case::Input weights_of(DType quants, const Shape& shape) {
    return {.type = TensorType{shape}, .weight = true, .quantized = quants};
}
/// The type of an input that is absent unless `present`.
inline std::optional<TensorType> only_if(bool present, const TensorType& type) {
    return present ? std::optional(type) : std::nullopt;
}

/// A node that is differentiated, as the rule of its op sees it.
struct GradientCall {
    OpCall call;
    std::vector<Tensor> inputs, outputs;  ///< an absent operand is empty
    std::vector<Tensor> gradients;        ///< of the loss by each output; empty where it is zero
    std::vector<bool> needed;             ///< by operand: whether something depends on its gradient
    SourceLocation where;                 ///< of the node
};
/// How an op is differentiated: by a rule, which adds nodes to the graph and returns the gradient of the loss by each
/// operand (empty, or none at the end of the list, where it is zero or not needed), or the reason why it is not.
struct Gradient {
    using Rule = std::vector<Tensor> (*)(const GradientCall&);
    Rule rule = nullptr;
    const char* refusal = nullptr;
    constexpr Gradient(Rule r) : rule(r) {}
    constexpr Gradient(const char* why) : refusal(why) {}
};
inline constexpr const char *of_a_state = "it works on states of a sequence, which training has none of",
                            *of_integers = "its results are whole numbers",
                            *of_fusion = "it is made by fusion, which comes after differentiation",
                            *of_display = "it is there to look at, not to learn from",
                            *of_a_gradient = "it computes gradients itself, and these are not differentiated";

/// Everything known about one operation. The ops of the runtime are made by `define_op`.
struct OpDef {
    const char* name;
    const char* summary;                ///< formula and source in one line, for documents and `conform`
    std::vector<const char*> operands;  ///< names of the inputs, for messages
    /// Checks the operands and returns the types of the results; throws Error through OpCall::fail.
    std::vector<TensorType> (*infer)(const OpCall&);
    /// The reference implementation, in double precision. Outputs are allocated. An output that aliases an input
    /// starts with the contents of that input.
    void (*reference)(const OpCall&, std::span<const HostTensor> inputs, std::span<HostTensor> outputs);
    Cost (*cost)(const OpCall&) = nullptr;
    /// In order of preference. The last one needs nothing and fits every call.
    std::vector<Kernel> kernels;
    std::vector<Case> (*cases)() = nullptr;
    Gradient gradient = "it has no rule";
    int step = -1;  ///< index of the operand that is the step of a run; -1: none
    /// Indices of the operands with a row for every token of the context. The speed of a call with a step depends on
    /// the filled rows, and tuning does not distinguish calls by such a size.
    std::vector<int> context_rows = {};
    /// alias[i] = index of the input whose memory result i takes over (the next version of a state); -1, or beyond the
    /// end of the list: memory of its own.
    std::vector<std::int8_t> alias = {};
    Tolerances tolerance = {};
    /// What an op of a custom kernel belongs to (exec/custom_kernel.h); null for the ops of the runtime.
    KernelState* custom = nullptr;
    int alias_of(std::size_t result) const { return result < alias.size() ? alias[result] : -1; }
};

/// Fields of OpDef that most ops do not have.
struct StateOperands {
    int step = -1;
    std::vector<int> context_rows = {};
    std::vector<std::int8_t> alias = {};
};
/// An op from its parts, which have the same names in the file of every op.
OpDef define_op(const char* name, const char* summary, std::vector<const char*> operands, decltype(OpDef::infer) infer,
                decltype(OpDef::reference) reference, decltype(OpDef::cost) cost, std::vector<Kernel> kernels,
                decltype(OpDef::cases) cases, Gradient gradient, StateOperands states = {});

/// What the reference of a call makes of its inputs; absent ones are empty.
std::vector<HostTensor> run_reference(const OpCall& call, std::span<const HostTensor> inputs);
/// The same, with none of them absent and inferred results.
std::vector<HostTensor> run_reference(const OpDef& op, const Attrs& attrs, std::span<const HostTensor> inputs);

/// Where Caps::ends_long_loops: the iterations of an invocation, of all its loops together.
inline constexpr std::int64_t longest_loop = 65535;
/// Throws unsupported where the device would leave loops of so many iterations early, without an error.
void require_loops(const OpCall& call, const Caps& caps, std::int64_t iterations);

/// Adds a call of `op` to a graph; infers and checks types. Absent operands are empty Tensors. Errors name the op, the
/// operand and its shape, and carry the caller's line; an operand that the op cannot do without must not be empty.
std::vector<Tensor> add_call(Graph& graph, const OpDef& op, std::vector<Tensor> inputs, Attrs attrs,
                             SourceLocation where);
inline std::vector<Tensor> add_call(Graph&& graph, const OpDef& op, std::vector<Tensor> inputs, Attrs attrs,
                                    SourceLocation where) {
    return add_call(graph, op, std::move(inputs), std::move(attrs), where);
}

/// The operands of an op from one list, which makes both their indices and their names: VANTAGE_OPERANDS(x_, gamma_)
/// declares the constants x_ = 0 and gamma_ = 1 and `operand_names`, {"x", "gamma"}, for OpDef::operands. The
/// underscore leaves the plain names to variables.
#define VANTAGE_OPERANDS(...)   \
    enum : int { __VA_ARGS__ }; \
    inline constexpr ::vantage::internal::OperandNames operand_names { #__VA_ARGS__ }
template <std::size_t size>
class OperandNames {
public:
    /// `list`: "x_, gamma_".
    consteval explicit OperandNames(const char (&list)[size]) {
        for (std::size_t i = 0; i < size; ++i) {
            const bool last = i + 1 < size && list[i] == '_' && (list[i + 1] == ',' || list[i + 1] == '\0');
            text_[i] = last ? '\0' : list[i];
            if (list[i] == ',') ++commas_;
        }
    }
    operator std::vector<const char*>() const {
        std::vector<const char*> names{text_};
        for (std::size_t i = 0; i < size && names.size() <= commas_; ++i)
            if (text_[i] == ',') names.push_back(text_ + i + 2);
        return names;
    }

private:
    char text_[size] = {};
    std::size_t commas_ = 0;
};

/// An operand of an op, where code names operands of several ops.
using OperandOf = std::pair<const OpDef*, int>;
inline bool is_one_of(const OperandOf& operand, std::initializer_list<OperandOf> operands) {
    return std::ranges::count(operands, operand) > 0;
}

/// All ops, and one by name (null when there is none).
std::span<const OpDef* const> all_ops();
const OpDef* find_op(const std::string& name);

/// ceil(a / b)
inline std::uint32_t ceil_div(std::int64_t a, std::int64_t b) { return u32((a + b - 1) / b); }
/// Cost of a call that reads its inputs once, writes its outputs once and does `flops` operations.
Cost streaming_cost(const OpCall& call, double flops);
/// The largest workgroup size ≤ limit of this device that is a power of two.
std::uint32_t workgroup_size(const Caps& caps, std::uint32_t limit = 256);
/// Whether a lane has some 150 registers or more. No driver says it. GPUs with subgroups of 32 lanes or more have them;
/// not those of phones and the like, which are integrated and have little shared memory, too: the compilers of Adreno
/// 618 and 660 and of Apple's M1 spill there.
inline bool has_many_registers(const Caps& caps) {
    const bool small = caps.type == DeviceType::integrated && caps.max_shared_memory < (48u << 10);
    return !caps.is_cpu() && caps.min_subgroup_size >= 32 && !small;
}
/// The lanes that reduce a row together, and the steps of one loop iteration.
struct RowTeam {
    std::uint32_t lanes, unroll = 1;
};
inline RowTeam one_workgroup(const Caps& caps) { return {workgroup_size(caps)}; }
/// For CPU devices: one subgroup a row, because a barrier spills all registers, and long iterations, because each is
/// expensive.
inline RowTeam one_subgroup(const Caps& caps) { return {caps.subgroup_size, 4}; }
/// For CPU devices that load once for all lanes: the f32 vectors of a loop iteration over rows of `cols` elements
/// (lib/cpu_simd.glsl). An iteration must divide a row; 0 if none does.
std::uint32_t vectors_of_round(std::int64_t cols, const Caps& caps);
/// Whether the first input is f32 and its rows consist of whole iterations.
bool fits_cpu_simd(const OpCall& call, const Caps& caps);
/// A grid of `groups` workgroups in x, continued in y beyond the limit of the device; kernels use
/// `workgroup_index()` of lib/index.glsl.
std::array<std::uint32_t, 3> flat_grid(std::uint64_t groups, const Caps& caps);
std::array<std::uint32_t, 3> flat_grid(std::signed_integral auto groups, const Caps& caps) {
    return flat_grid(static_cast<std::uint64_t>(groups), caps);
}
/// Number of a DType in shaders (lib/storage.glsl).
std::uint32_t storage_of(DType type);

}  // namespace vantage::internal
