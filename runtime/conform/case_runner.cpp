#include "runtime/conform/case_runner.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/base/format.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/checks.h"
#include "vantage/plan.h"

namespace vantage::internal {

namespace {

HostTensor filled(const Case::Input& input, const TensorType& type, std::mt19937& random) {
    HostTensor tensor(type);
    const auto fill = [&](auto distribution) {
        for (double& value : tensor.data) value = static_cast<double>(distribution(random));
    };
    switch (input.fill) {
        case Case::Fill::normal: fill(std::normal_distribution<double>(input.low, input.high)); break;
        case Case::Fill::uniform: fill(std::uniform_real_distribution<double>(input.low, input.high)); break;
        case Case::Fill::ids:
            fill(std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(input.low),
                                                             static_cast<std::int64_t>(input.high) - 1));
            break;
        case Case::Fill::zeros: break;
        case Case::Fill::given: tensor.data = input.given; break;
    }
    // As on the device. Blocks of 256 may get other scales when they are rounded again: until nothing changes.
    for (int i = 0; i < 10; ++i) {
        HostTensor rounded = widen(type, narrow(tensor));
        const bool same = rounded.data == tensor.data;
        tensor = std::move(rounded);
        if (same) break;
    }
    return tensor;
}

// With quantized matrices, other weights such as biases have the type of activations.
DType storage_in(const CaseTypes& types, const Case::Input& input) {
    const bool other = is_quantized(types.weights) && input.quantized != types.weights;
    return input.weight && !other ? types.weights : types.activations;
}

// f32 and other type number `turn`. Only some cases have quantized weights.
std::vector<CaseTypes> in_turn(const std::vector<CaseTypes>& all, std::size_t turn) {
    std::vector<CaseTypes> always, others;
    for (const CaseTypes& types : all)
        (types.weights == DType::f32 || is_quantized(types.weights) ? always : others).push_back(types);
    if (!others.empty()) always.push_back(others[turn % others.size()]);
    return always;
}

}  // namespace

std::string CaseTypes::text() const {
    return activations == weights ? name_of(activations)
                                  : std::string(name_of(activations)) + " weights " + name_of(weights);
}

std::vector<CaseTypes> types_of(const Case& test) {
    bool floats = false, weights = false;
    for (const Case::Input& input : test.inputs)
        if (input.type && is_float(input.type->dtype) && !input.fixed_type) floats = true, weights |= input.weight;
    std::vector<CaseTypes> types = {{DType::f32, DType::f32}};
    if (floats) types.push_back({DType::f16, DType::f16});
    if (weights) types.insert(types.end(), {{DType::f32, DType::f16}, {DType::f32, DType::bf16}});
    for (const Case::Input& input : test.inputs)
        if (is_quantized(input.quantized) && std::ranges::count(types, input.quantized, &CaseTypes::weights) == 0)
            types.push_back({DType::f32, input.quantized});
    return types;
}

void CaseResult::add(const Comparison& result) {
    if (const double ratio = result.worst / std::max(result.allowed, 1e-300); ratio > worst_ratio)
        worst_ratio = ratio, worst = result.worst, allowed = result.allowed;
    if (result.passed) return;
    status = failed;
    message += (message.empty() ? "" : "\n  ") + result.message;
}

void CaseResult::keep(NodeDump dump) {
    dump.finding = message;
    ran = std::make_shared<const NodeDump>(std::move(dump));
}

CaseResult CaseResult::of_error(const Error& error) {
    if (error.kind() != ErrorKind::failure && error.kind() != ErrorKind::unsupported) throw;
    return {.status = failed, .worst = HUGE_VAL, .message = error.what()};
}

PreparedCase prepare(const OpDef& op, const Case& test, const CaseTypes& types, unsigned seed) {
    PreparedCase prepared{.call = {.op = &op, .attrs = test.attrs}};
    prepared.call.inputs.resize(std::max(test.inputs.size(), op.operands.size()));
    prepared.inputs.resize(prepared.call.inputs.size());
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
        const Case::Input& input = test.inputs[i];
        if (!input.type) continue;
        TensorType type = *input.type;
        if (is_float(type.dtype) && !input.fixed_type) type.dtype = storage_in(types, input);
        prepared.call.inputs[i] = type;
        prepared.inputs[i] = filled(input, type, random);
    }
    prepared.call.outputs = op.infer(prepared.call);
    return prepared;
}

std::vector<TensorBytes> narrow_inputs(const OpCall& call, const std::vector<HostTensor>& inputs) {
    std::vector<TensorBytes> bytes;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        bytes.push_back(call.inputs[i] ? narrow(inputs[i]) : TensorBytes());
    return bytes;
}

NodeDump run_alone(const Device& device, const OpCall& call, std::vector<TensorBytes> inputs, const Kernel& kernel,
                   const std::function<void(Plan&)>& before) {
    Plan plan(graph_of_call(call), device, {.fuse = false, .guard = true, .kernel = kernel.name});
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (call.inputs[i]) plan.write_bytes(call.op->operands.at(i), inputs[i]);
    if (before) before(plan);
    plan.run();
    NodeDump ran = PlanAccess::describe(plan, 0);
    ran.inputs = std::move(inputs);
    for (std::size_t i = 0; i < call.outputs.size(); ++i) ran.results.push_back(plan.read_bytes(format("result{}", i)));
    return ran;
}

std::vector<HostTensor> run_call(const Device& device, const OpCall& call, const std::vector<HostTensor>& inputs,
                                 const Kernel& kernel) {
    return results_of(run_alone(device, call, narrow_inputs(call, inputs), kernel));
}

Attrs attrs_for(const Kernel& kernel, Attrs attrs) {
    if ((kernel.needs & (need_coopmat | need_fp16)) != 0) attrs.set("f16_operands", true);
    if ((kernel.needs & need_int8_dot) != 0) attrs.set("int8_operands", true);
    return attrs;
}

CaseResult run_case(const Device& device, const OpDef& op, const Case& test, const CaseTypes& types,
                    const Kernel& kernel) {
    PreparedCase prepared = prepare(op, test, types);
    prepared.call.attrs = attrs_for(kernel, prepared.call.attrs);
    if (!eligible(kernel, prepared.call, device.caps())) return {.status = CaseResult::not_fitting};
    const OpCall& call = prepared.call;
    const std::vector<HostTensor> want = run_reference(call, prepared.inputs);
    try {
        NodeDump ran = run_alone(device, call, narrow_inputs(call, prepared.inputs), kernel);
        const std::vector<HostTensor> got = results_of(ran);
        CaseResult result;
        for (std::size_t i = 0; i < want.size(); ++i)
            result.add(compare(format("result{}", i), got[i], want[i], op.tolerance, call.attrs));
        if (result.status == CaseResult::failed) result.keep(std::move(ran));
        return result;
    } catch (const Error& error) {
        return CaseResult::of_error(error);
    }
}

void run_all_cases(const Device& device, const std::string& only_op, const std::string& only_case,
                   const std::string& only_kernel, const CaseVisitor& visit, StorageTypes storage) {
    for (const OpDef* op : all_ops()) {
        if (op->cases == nullptr || (!only_op.empty() && only_op != op->name)) continue;
        std::size_t turn = 0;
        for (const Case& test : op->cases()) {
            const std::vector<CaseTypes> all = types_of(test);
            const std::size_t own = turn++;
            if (!only_case.empty() && only_case != test.name) continue;
            for (const CaseTypes& types : storage == StorageTypes::all ? all : in_turn(all, own))
                for (const Kernel& kernel : op->kernels) {
                    if (!only_kernel.empty() && only_kernel != kernel.name) continue;
                    if (!visit(*op, test, types, kernel, run_case(device, *op, test, types, kernel))) return;
                }
        }
    }
}

}  // namespace vantage::internal
