#include "runtime/exec/custom_kernel.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <system_error>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/exec/glsl.h"

namespace vantage {

namespace {

constexpr std::size_t max_push_bytes = 128;

struct Registry {
    std::mutex mutex;
    std::deque<KernelState> kernels;  // a deque: nodes point to the ops in it
};
Registry& registry() {
    static Registry all;
    return all;
}

std::vector<TensorType> infer(const OpCall& call) {
    for (std::size_t i = 0; i < call.op->operands.size(); ++i) static_cast<void>(call.in(static_cast<int>(i)));
    return call.attrs.types("results");
}

void reference(const OpCall& call, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
    const KernelLayout& layout = call.op->custom->layout;
    if (!layout.reference)
        throw usage_error(std::string(call.op->name) + " has no reference: set KernelLayout::reference to check it");
    layout.reference(call, inputs, outputs);
}

Cost cost(const OpCall& call) {
    double elements = 0;
    for (const TensorType& type : call.outputs) elements += static_cast<double>(type.shape.elements());
    return streaming_cost(call, elements);
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    KernelState& kernel = *call.op->custom;
    const KernelLayout& layout = kernel.layout;
    if (const std::uint32_t most = std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]);
        layout.lanes > most)
        throw unsupported_error("kernel {} has workgroups of {} lanes, but {} allows at most {}", kernel.name,
                                layout.lanes, caps.name, most);
    const std::uint64_t groups =
        layout.workgroups ? layout.workgroups(call) : ceil_div(call.out(0).shape.elements(), layout.lanes);
    Launch launch{.shader = module_of(kernel).name, .spec = {layout.lanes}, .operands = layout.operands};
    launch.groups = flat_grid(std::max<std::uint64_t>(groups, 1), caps);
    launch.params.resize(8 * layout.operands.size());
    const std::vector<std::byte> scalars = call.attrs.bytes("params");
    launch.params.insert(launch.params.end(), scalars.begin(), scalars.end());
    return launch;
}

// One more than the largest index of the layout's operands of this kind.
std::size_t count_of(const KernelLayout& layout, Operand::Kind kind) {
    std::size_t count = 0;
    for (const Operand& operand : layout.operands)
        if (operand.kind == kind) count = std::max<std::size_t>(count, operand.index + std::size_t{1});
    return count;
}

void require_spirv(const std::string& name, std::span<const std::uint32_t> words) {
    if (!is_spirv(words))
        throw usage_error("kernel " + name + ": the bytes are no SPIR-V module, which begins with 0x07230203");
}

void require_layout(const std::string& name, const KernelLayout& layout) {
    const auto require = [&](bool condition, const std::string& what) {
        if (!condition) throw usage_error("kernel " + name + ": " + what);
    };
    const std::size_t inputs = count_of(layout, Operand::input), outputs = count_of(layout, Operand::output);
    require(layout.lanes > 0, "the layout has no lanes");
    require(outputs > 0, "the layout has no output, out(0)");
    require(8 * layout.operands.size() <= max_push_bytes,
            format("the layout has {} operands; there may be 16", layout.operands.size()));
    for (const Operand& operand : layout.operands)
        require(operand == in(operand.index) || operand == out(operand.index),
                "the operands of a layout are in(i), which is read, and out(i), which is written");
    for (std::size_t i = 0; i < std::max(inputs, outputs); ++i) {
        const int index = static_cast<int>(i);
        const auto named = [&](const Operand& operand) { return std::ranges::count(layout.operands, operand) > 0; };
        require(i >= inputs || named(in(index)), format("the layout has in({}), but not in({})", inputs - 1, i));
        require(i >= outputs || named(out(index)), format("the layout has out({}), but not out({})", outputs - 1, i));
    }
}

KernelState& add(const std::string& name, std::span<const std::uint32_t> words, KernelLayout layout) {
    require_spirv(name, words);
    require_layout(name, layout);
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    KernelState& kernel = all.kernels.emplace_back();
    kernel.name = name;
    kernel.layout = std::move(layout);
    kernel.newest = kernel.module = &add_spirv(name, words);
    const std::size_t inputs = count_of(kernel.layout, Operand::input);
    for (std::size_t i = 0; i < inputs; ++i) kernel.operand_names.push_back("input " + std::to_string(i));
    kernel.op.name = kernel.name.c_str();
    kernel.op.summary = "a kernel of the program";
    for (const std::string& operand : kernel.operand_names) kernel.op.operands.push_back(operand.c_str());
    kernel.op.infer = infer;
    kernel.op.reference = reference;
    kernel.op.cost = cost;
    kernel.op.kernels = {{.name = "custom", .launch = launch}};
    kernel.op.tolerance = kernel.layout.tolerance;
    kernel.op.custom = &kernel;
    return kernel;
}

std::filesystem::file_time_type time_of(const std::string& path) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    return error ? std::filesystem::file_time_type{} : time;
}

}  // namespace

CustomKernel CustomKernel::spirv(const std::string& name, std::span<const std::uint32_t> words, KernelLayout layout) {
    return CustomKernel(&add(name, words, std::move(layout)));
}

CustomKernel CustomKernel::spirv(const std::string& name, std::span<const std::byte> bytes, KernelLayout layout) {
    std::vector<std::uint32_t> words(bytes.size() / 4);
    if (!bytes.empty() && bytes.size() % 4 == 0) std::memcpy(words.data(), bytes.data(), bytes.size());
    return spirv(name, words, std::move(layout));
}

CustomKernel CustomKernel::glsl(const std::string& name, const std::string& source, KernelLayout layout) {
    return spirv(name, compile_glsl(name, source), std::move(layout));
}

CustomKernel CustomKernel::glsl_file(const std::string& path, KernelLayout layout) {
    const auto changed = time_of(path);
    const std::string name = std::filesystem::path(path).stem().string();
    KernelState& kernel = add(name, compile_glsl(path, read_file(path)), std::move(layout));
    const std::lock_guard lock(kernel.mutex);
    kernel.path = path;
    kernel.changed = changed;
    return CustomKernel(&kernel);
}

const std::string& CustomKernel::name() const { return state_->name; }

const SpirvModule& internal::module_of(KernelState& kernel) {
    const std::lock_guard lock(kernel.mutex);
    return *kernel.module;
}

const SpirvModule& internal::newest_module(KernelState& kernel) {
    const auto now = time_of(kernel.path);
    {
        const std::lock_guard lock(kernel.mutex);
        if (now == kernel.changed) return *kernel.newest;
        kernel.changed = now;  // also when it does not compile: it is reported once
    }
    const SpirvModule* made = nullptr;
    try {
        made = &add_spirv(kernel.name, compile_glsl(kernel.path, read_file(kernel.path)));
    } catch (const std::exception& failure) {
        const auto* error = dynamic_cast<const Error*>(&failure);
        if (error == nullptr || is_fatal(error->kind())) {
            const std::lock_guard lock(kernel.mutex);
            kernel.changed = {};
            throw;
        }
        log_message(LogLevel::warning, std::string(failure.what()) + "; the last good version stays");
    }
    const std::lock_guard lock(kernel.mutex);
    if (made != nullptr && kernel.changed == now) kernel.newest = made;  // else another thread compiles a newer one
    return *kernel.newest;
}

void internal::accept_module(KernelState& kernel, const SpirvModule& module) {
    const std::lock_guard lock(kernel.mutex);
    if (kernel.newest == &module) kernel.module = &module;
}

void internal::refuse_module(KernelState& kernel, const SpirvModule& module) {
    const std::lock_guard lock(kernel.mutex);
    if (kernel.newest == &module) kernel.newest = kernel.module;
}

std::vector<Tensor> call(const CustomKernel& kernel, const std::vector<Tensor>& inputs,
                         const std::vector<TensorType>& types, const std::vector<std::byte>& parameters,
                         SourceLocation where) {
    const KernelState& state = KernelAccess::state(kernel);
    const OpCall message{.op = &state.op, .where = where};
    if (const std::size_t results = count_of(state.layout, Operand::output); types.size() != results)
        message.fail(format("{} result types are given, but the layout has {}", types.size(), results));
    if (8 * state.layout.operands.size() + parameters.size() > max_push_bytes)
        message.fail(format("{} operands and {} bytes of parameters exceed the 128 bytes of push constants",
                            state.layout.operands.size(), parameters.size()));
    const auto first = std::ranges::find_if(inputs, [](const Tensor& input) { return bool(input); });
    if (first == inputs.end()) message.fail("no input belongs to a graph");
    Attrs attrs;
    attrs.set("results", types);
    if (!parameters.empty()) attrs.set("params", parameters);
    return add_call(first->graph(), state.op, inputs, attrs, where);
}

}  // namespace vantage
