#include "runtime/exec/custom_kernel.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>
#include <system_error>

#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/program.h"

namespace vantage {

namespace {

constexpr std::uint32_t spirv_magic = 0x07230203;
constexpr std::size_t max_push_bytes = 128;

struct Registry {
    std::mutex mutex;
    std::deque<CustomKernel::State> kernels;  // a deque: nodes point to the ops in it
};
Registry& registry() {
    static Registry all;
    return all;
}

CustomKernel::State& kernel_of_call(const OpCall& call) { return *detail::kernel_of(*call.op); }

// Result types and parameters travel with the node as attributes: "f32 [3, 4]; f16 [3]", and hexadecimal bytes.
std::string text_of(const std::vector<TensorType>& types) {
    std::string text;
    for (const TensorType& type : types) text += (text.empty() ? "" : "; ") + type.text();
    return text;
}

DType dtype_named(std::string_view name) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32, DType::q8_0, DType::q4_0})
        if (name == name_of(type)) return type;
    throw Error(ErrorKind::failure, "no storage type is called " + std::string(name));
}

std::vector<TensorType> types_of(const std::string& text) {
    std::vector<TensorType> types;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bracket = text.find(" [", at), end = text.find(']', bracket);
        std::vector<std::int64_t> sizes;
        for (const char* digit = text.data() + bracket + 2; digit < text.data() + end;) {
            std::int64_t& size = sizes.emplace_back();
            digit = std::from_chars(digit, text.data() + end, size).ptr + 2;  // behind ", "
        }
        types.push_back({Shape(sizes), dtype_named(std::string_view(text).substr(at, bracket - at))});
        at = end + 3;  // behind "]; "
    }
    return types;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes)
        for (const int shift : {4, 0}) text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> shift & 15];
    return text;
}

std::vector<std::byte> bytes_of(const std::string& text) {
    std::vector<std::byte> bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned value = 0;
        std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
        bytes[i] = static_cast<std::byte>(value);
    }
    return bytes;
}

std::vector<TensorType> infer(const OpCall& call) {
    for (std::size_t i = 0; i < call.op->operands.size(); ++i) static_cast<void>(call.in(static_cast<int>(i)));
    return types_of(call.attrs.text("results"));
}

void reference(const OpCall& call, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
    const KernelLayout& layout = kernel_of_call(call).layout;
    if (!layout.reference)
        throw Error(ErrorKind::usage,
                    std::string(call.op->name) + " has no reference: set KernelLayout::reference to check it");
    layout.reference(call, inputs, outputs);
}

Cost cost(const OpCall& call) {
    double elements = 0;
    for (const TensorType& type : call.outputs) elements += static_cast<double>(type.shape.elements());
    return streaming_cost(call, elements);
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    CustomKernel::State& kernel = kernel_of_call(call);
    const KernelLayout& layout = kernel.layout;
    const std::uint64_t groups =
        layout.workgroups ? layout.workgroups(call) : ceil_div(call.out(0).shape.elements(), layout.lanes);
    Launch launch{.shader = detail::module_of(kernel).name, .spec = {layout.lanes}, .operands = layout.operands};
    launch.groups = flat_grid(std::max<std::uint64_t>(groups, 1), caps);
    launch.params.resize(8 * layout.operands.size());
    const std::vector<std::byte> scalars = bytes_of(call.attrs.text("params"));
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
    if (words.size() < 5 || words[0] != spirv_magic)
        throw Error(ErrorKind::usage,
                    "kernel " + name + ": the bytes are no SPIR-V module, which begins with 0x07230203");
}

CustomKernel::State& add(const std::string& name, std::span<const std::uint32_t> words, KernelLayout layout) {
    require_spirv(name, words);
    if (count_of(layout, Operand::output) == 0 || 8 * layout.operands.size() > max_push_bytes || layout.lanes == 0)
        throw Error(ErrorKind::usage,
                    "kernel " + name + ": a layout has lanes, and up to 16 operands with one output at least");
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    CustomKernel::State& kernel = all.kernels.emplace_back();
    kernel.name = name;
    kernel.layout = std::move(layout);
    kernel.module = &add_spirv(name, words);
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
    return kernel;
}

// The first line of what the compiler said that names an error.
std::string first_error(const std::string& output) {
    for (std::size_t at = 0; at < output.size();) {
        const std::size_t end = std::min(output.find('\n', at), output.size());
        if (const std::string line = output.substr(at, end - at); line.find("ERROR") != std::string::npos) return line;
        at = end + 1;
    }
    return "it does not compile";
}

std::vector<std::uint32_t> compile_glsl(const std::string& name, const std::string& source) {
    const TemporaryFolder folder;
    const std::string shader = folder.path() + "/kernel.comp", module = folder.path() + "/kernel.spv";
    write_file(shader, source);
    const std::string compiler = environment("VANTAGE_GLSLANG").value_or("glslang");
    Finished finished;
    try {
        // env looks for the program on PATH, and exits with 127 when it is not there.
        finished = run_program(
            {"/usr/bin/env", compiler, "-V", "--quiet", "--target-env", "vulkan1.3", "-o", module, shader}, {});
    } catch (const Error&) {
        finished.code = 127;
    }
    if (finished.code == 127)
        throw Error(ErrorKind::unsupported, "kernel " + name + ": GLSL needs the program glslang, but " + compiler +
                                                " cannot be started; VANTAGE_GLSLANG names another");
    if (finished.code != 0) throw Error(ErrorKind::usage, "kernel " + name + ": " + first_error(finished.out));
    const std::string bytes = read_file(module);
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), 4 * words.size());
    return words;
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
    if (bytes.size() % 4 == 0) std::memcpy(words.data(), bytes.data(), bytes.size());
    return spirv(name, words, std::move(layout));
}

CustomKernel CustomKernel::glsl(const std::string& name, const std::string& source, KernelLayout layout) {
    return spirv(name, compile_glsl(name, source), std::move(layout));
}

CustomKernel CustomKernel::glsl_file(const std::string& path, KernelLayout layout) {
    const auto changed = time_of(path);
    const std::string name = std::filesystem::path(path).stem().string();
    State& kernel = add(name, compile_glsl(path, read_file(path)), std::move(layout));
    const std::lock_guard lock(kernel.mutex);
    kernel.path = path;
    kernel.changed = changed;
    return CustomKernel(&kernel);
}

const std::string& CustomKernel::name() const { return state_->name; }

CustomKernel::State* detail::kernel_of(const OpDef& op) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const auto found =
        std::ranges::find_if(all.kernels, [&](const CustomKernel::State& one) { return &one.op == &op; });
    return found == all.kernels.end() ? nullptr : &*found;
}

const SpirvModule& detail::module_of(CustomKernel::State& kernel) {
    const std::lock_guard lock(kernel.mutex);
    return *kernel.module;
}

const SpirvModule* detail::changed_module(CustomKernel::State& kernel) {
    const std::lock_guard lock(kernel.mutex);
    if (kernel.path.empty()) return nullptr;
    const auto now = time_of(kernel.path);
    if (now == kernel.changed) return nullptr;
    kernel.changed = now;  // also when it does not compile: it is reported once
    try {
        return &add_spirv(kernel.name, compile_glsl(kernel.path, read_file(kernel.path)));
    } catch (const Error& error) {
        log_message(LogLevel::warning, std::string(error.what()) + "; the last good version stays");
        return nullptr;
    }
}

void detail::take_module(CustomKernel::State& kernel, const SpirvModule& module) {
    const std::lock_guard lock(kernel.mutex);
    kernel.module = &module;
}

std::vector<Tensor> call(const CustomKernel& kernel, const std::vector<Tensor>& inputs,
                         const std::vector<TensorType>& types, const std::vector<std::byte>& parameters,
                         SourceLocation where) {
    const CustomKernel::State& state = kernel.state();
    const OpCall message{.op = &state.op, .where = where};
    if (const std::size_t results = count_of(state.layout, Operand::output); types.size() != results)
        message.fail(format("{} result types are given, but the layout has {}", types.size(), results));
    if (8 * state.layout.operands.size() + parameters.size() > max_push_bytes)
        message.fail(format("{} operands and {} bytes of parameters exceed the 128 bytes of push constants",
                            state.layout.operands.size(), parameters.size()));
    const auto first = std::ranges::find_if(inputs, [](const Tensor& input) { return bool(input); });
    if (first == inputs.end()) message.fail("no input belongs to a graph");
    Attrs attrs;
    attrs.set("results", text_of(types));
    if (!parameters.empty()) attrs.set("params", hexadecimal(parameters));
    return first->graph().call(state.op, inputs, attrs, where);
}

}  // namespace vantage
