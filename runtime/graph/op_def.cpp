#include "runtime/graph/op_def.h"

#include <bit>

#include "runtime/base/errors.h"
#include "runtime/base/quantize.h"
#include "runtime/base/version.h"

namespace vantage {

void OpCall::fail(const std::string& what) const {
    throw Error(ErrorKind::usage, text_of(where) + scope + op->name + ": " + what, where);
}

void OpCall::fail_empty(int i) const {
    const auto index = static_cast<std::size_t>(i);
    fail((index < op->operands.size() ? op->operands[index] : "operand " + std::to_string(i)) + " is an empty tensor");
}

Launch& Launch::replace(const Operand& operand, const Operand& other) {
    const auto found = std::ranges::find(operands, operand);
    if (found == operands.end())
        throw Error(ErrorKind::failure, std::string(shader) + " has no such operand to replace");
    *found = other;
    return *this;
}

HostTensor internal::widen_part(DType type, std::int64_t first, std::int64_t count,
                                const std::function<std::vector<std::byte>(std::uint64_t, std::uint64_t)>& read) {
    const auto group = static_cast<std::int64_t>(info(type).elements), begin = first / group * group,
               end = count > 0 ? (first + count + group - 1) / group * group : begin;
    const TensorType whole{Shape{end - begin}, type};
    const auto from = static_cast<std::uint64_t>(begin / group) * info(type).bytes;
    HostTensor part = widen(whole, read(from, whole.bytes()));
    part.data.erase(part.data.begin(), part.data.begin() + (first - begin));
    part.data.resize(static_cast<std::size_t>(count));
    part.type.shape = {count};
    return part;
}

HostTensor internal::widen(const TensorType& type, std::span<const std::byte> bytes) {
    HostTensor tensor(type);
    if (is_quantized(type.dtype)) {
        std::vector<float> values(tensor.data.size());
        dequantize(type.dtype, bytes, values);
        std::ranges::copy(values, tensor.data.begin());
        return tensor;
    }
    const std::size_t size = info(type.dtype).bytes;
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * size, size);
        switch (type.dtype) {
            case DType::f32: tensor.data[i] = std::bit_cast<float>(bits); break;
            case DType::f16: tensor.data[i] = half_to_float(static_cast<std::uint16_t>(bits)); break;
            case DType::bf16: tensor.data[i] = bfloat_to_float(static_cast<std::uint16_t>(bits)); break;
            case DType::i32: tensor.data[i] = std::bit_cast<std::int32_t>(bits); break;
            case DType::u32: tensor.data[i] = bits; break;
            default: break;  // quantized: above
        }
    }
    return tensor;
}

std::vector<std::byte> internal::narrow(const HostTensor& tensor) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.type.bytes()));
    if (is_quantized(tensor.type.dtype)) {
        quantize(tensor.type.dtype, std::vector<float>(tensor.data.begin(), tensor.data.end()), bytes);
        return bytes;
    }
    const std::size_t size = info(tensor.type.dtype).bytes;
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
        const double value = tensor.data[i];
        std::uint32_t bits = 0;
        switch (tensor.type.dtype) {
            case DType::f32: bits = std::bit_cast<std::uint32_t>(static_cast<float>(value)); break;
            case DType::f16: bits = float_to_half(static_cast<float>(value)); break;
            case DType::bf16: bits = float_to_bfloat(static_cast<float>(value)); break;
            case DType::i32: bits = std::bit_cast<std::uint32_t>(static_cast<std::int32_t>(value)); break;
            case DType::u32: bits = static_cast<std::uint32_t>(value); break;
            default: break;  // quantized: above
        }
        std::memcpy(bytes.data() + i * size, &bits, size);
    }
    return bytes;
}

bool internal::provides(const Caps& caps, std::uint32_t needs) {
    return (!(needs & need_subgroup) || (caps.subgroup_arithmetic && has_family("subgroup"))) &&
           (!(needs & need_fp16) || (caps.fp16 && has_family("fp16"))) &&
           (!(needs & need_coopmat) || (!caps.cooperative_matrices.empty() && has_family("coopmat"))) &&
           (!(needs & need_coopmat2) || (caps.cooperative_matrix2 && has_family("coopmat2"))) &&
           (!(needs & need_float_dot) || (caps.float_dot && has_family("float_dot"))) &&
           (!(needs & need_int8_dot) || (caps.integer_dot && has_family("integer_dot"))) &&
           (!(needs & need_quad) || caps.subgroup_quad) && (!(needs & need_int64) || caps.int64);
}

OpDef internal::define_op(const char* name, const char* summary, std::vector<const char*> operands,
                          decltype(OpDef::infer) infer, decltype(OpDef::reference) reference,
                          decltype(OpDef::cost) cost, std::vector<Kernel> kernels, decltype(OpDef::cases) cases,
                          Gradient gradient, StateOperands states) {
    return {.name = name,
            .summary = summary,
            .operands = std::move(operands),
            .infer = infer,
            .reference = reference,
            .cost = cost,
            .kernels = std::move(kernels),
            .cases = cases,
            .gradient = gradient,
            .step = states.step,
            .context_rows = std::move(states.context_rows),
            .alias = std::move(states.alias)};
}

std::vector<HostTensor> internal::run_reference(const OpDef& op, const Attrs& attrs,
                                                std::span<const HostTensor> inputs) {
    OpCall call{.op = &op, .attrs = attrs};
    for (const HostTensor& input : inputs) call.inputs.emplace_back(input.type);
    call.outputs = op.infer(call);
    return run_reference(call, inputs);
}

std::vector<HostTensor> internal::run_reference(const OpCall& call, std::span<const HostTensor> inputs) {
    std::vector<HostTensor> outputs;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const int alias = call.op->alias_of(i);
        outputs.push_back(alias >= 0 ? at(inputs, alias) : HostTensor(call.outputs[i]));
    }
    call.op->reference(call, inputs, outputs);
    return outputs;
}

const OpDef* internal::find_op(const std::string& name) {
    for (const OpDef* op : all_ops())
        if (name == op->name) return op;
    return nullptr;
}

Cost internal::streaming_cost(const OpCall& call, double flops) {
    Cost cost{flops, 0, 0};
    for (const auto& input : call.inputs)
        if (input) cost.bytes_read += static_cast<double>(input->bytes());
    for (const TensorType& output : call.outputs) cost.bytes_written += static_cast<double>(output.bytes());
    return cost;
}

std::uint32_t internal::workgroup_size(const Caps& caps, std::uint32_t limit) {
    const std::uint32_t maximum = std::min({limit, caps.max_workgroup_invocations, caps.max_workgroup_size[0]});
    return std::bit_floor(maximum);
}

std::uint32_t internal::vectors_of_round(std::int64_t cols, const Caps& caps) {
    constexpr std::int64_t maximum = std::int64_t{1} << 28;  // kernels count the bytes of a row in 32 bits
    constexpr std::uint32_t max_lanes = 16;                  // that lib/cpu_simd.glsl tells apart
    if (cols > maximum || caps.subgroup_size > max_lanes) return 0;
    for (std::uint32_t vectors : {16u, 8u, 4u})
        if (cols > 0 && cols % (vectors * caps.subgroup_size) == 0) return vectors;
    return 0;
}

bool internal::fits_cpu_simd(const OpCall& call, const Caps& caps) {
    const TensorType& x = *call.inputs.front();
    return caps.is_cpu() && caps.subgroup_shuffle && x.dtype == DType::f32 && vectors_of_round(x.shape[-1], caps) != 0;
}

std::array<std::uint32_t, 3> internal::flat_grid(std::uint64_t groups, const Caps& caps) {
    const std::uint64_t maximum = caps.max_workgroup_count[0];
    if (groups <= maximum) return {u32(std::max<std::uint64_t>(groups, 1)), 1, 1};
    const std::uint64_t rows = (groups + maximum - 1) / maximum;
    return {u32((groups + rows - 1) / rows), u32(rows), 1};
}

std::uint32_t internal::storage_of(DType type) {
    // the numbers of lib/storage.glsl, which has the quantized types in the order of DType
    if (is_quantized(type)) return 3 + static_cast<std::uint32_t>(type) - static_cast<std::uint32_t>(DType::q8_0);
    return type == DType::f16 ? 1 : type == DType::bf16 ? 2 : 0;
}

void internal::require_loops(const OpCall& call, const Caps& caps, std::int64_t iterations) {
    if (caps.ends_long_loops() && iterations > longest_loop)
        throw unsupported_error("{}: loops of {} iterations; {} ({}) ends them after {}", call.op->name, iterations,
                                caps.name, caps.driver_version, longest_loop);
}

}  // namespace vantage
