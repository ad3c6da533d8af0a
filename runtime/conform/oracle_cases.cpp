#include "runtime/conform/oracle_cases.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/conform/oracle_map.h"
#include "runtime/conform/oracle_reader.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/compare.h"
#include "runtime/io/safetensors.h"

namespace vantage::internal {

namespace {

HostTensor host_tensor(const SafeTensors& tensors, const std::string& key) {
    const TensorEntry& entry = tensors.at(key);
    const bool floats = entry.dtype == "F32";
    if (!floats && entry.dtype != "I32")
        throw bad_file_error(tensors.name() + ": " + key + " is " + entry.text() + "; expected F32 or I32");
    if (entry.shape.size() > Shape::max_rank)
        throw bad_file_error("{}: {} is {}; expected at most {} dimensions", tensors.name(), key, entry.text(),
                             Shape::max_rank);
    const Shape shape{std::span<const std::int64_t>(entry.shape)};
    return widen({shape, floats ? DType::f32 : DType::i32}, entry.data.all());
}

std::map<std::string, HostTensor> host_tensors(const SafeTensors& tensors, const JsonFields& test, const char* list) {
    std::map<std::string, HostTensor> result;
    const JsonFields keys = test.object(list);
    for (const auto& [name, key] : keys.json().items()) result[name] = host_tensor(tensors, keys.text(name));
    return result;
}

// Cases with values outside of f16's range, by the names in the README of the files.
bool is_beyond_f16(const std::string& name) {
    for (const char* begin : {"softmax_large", "cross_entropy_large", "attn_huge_logits", "layer_norm_offset1000"})
        if (name.starts_with(begin)) return true;
    return name.find("_small_") != std::string::npos && name.find("eps") != std::string::npos;
}

/// Maps the case for this storage type. Returns why that is not supported, or an empty text.
std::string refusal(const OracleMap map, OracleReader& reader) {
    try {
        map(reader);
    } catch (const Error& error) {  // from an op that does not support the case; errors of files are bad_file
        if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::unsupported) throw;
        return error.what();
    }
    return reader.unread();
}

/// Sets whether the case is supported, and its storage types.
void judge(OracleCase& test, const OracleSource& source) {
    const OracleMap map = oracle_map(source.op);
    if (map == nullptr) {
        test.not_supported = "op " + source.op;
        return;
    }
    OracleReader in_f32(source, DType::f32), in_f16(source, DType::f16);
    test.not_supported = refusal(map, in_f32);
    test.storages = {DType::f32};
    if (!test.not_supported.empty()) return;
    for (const std::string& result : in_f32.unchecked()) test.partly.push_back("result " + result + " of " + source.op);
    if (in_f32.is_f32_only() || is_beyond_f16(test.name)) return;
    if (const std::string reason = refusal(map, in_f16); reason.empty())
        test.storages.push_back(DType::f16);
    else
        test.partly.push_back("f16 of " + source.op + ": " + reason);
}

OracleCase read_case(const SafeTensors& tensors, const JsonFields& test) {
    auto source = std::make_shared<OracleSource>();
    source->file = test.name();
    source->name = test.text("name");
    source->op = test.text("op");
    source->attrs = test.optional_object("attrs") ? test.object("attrs").json() : Json::object();
    source->inputs = host_tensors(tensors, test, "inputs");
    source->outputs = host_tensors(tensors, test, "outputs");
    OracleCase result;
    result.name = source->name;
    result.op = source->op;
    result.note = test.optional_text("note").value_or("");
    result.absolute = test.optional_number("atol", 0);
    result.relative = test.optional_number("rtol", 0);
    judge(result, *source);
    result.calls = [source](DType storage) {
        OracleReader reader(*source, storage);
        return oracle_map(source->op)(reader);
    };
    return result;
}

// In f16 operands are rounded, so the errors of f32 results (means, log-sum-exp) are those of f16.
Tolerances tolerances(const OracleCase& test, DType storage, const HostTensor& want) {
    Tolerances allowed;
    if (storage == DType::f16)
        allowed.f32 = {allowed.f16.absolute * root_mean_square(want), allowed.f16.relative};
    else
        allowed.f32 = {test.absolute.value_or(allowed.f32.absolute), test.relative.value_or(allowed.f32.relative)};
    return allowed;
}

CaseResult judged(const OracleCase& test, const OracleCall& call, DType storage, std::vector<HostTensor> results) {
    CaseResult result;
    for (const OracleCheck& check : call.checks) {
        HostTensor& got = at(results, check.output);
        for (std::size_t i : check.ignored) got.data[i] = check.want.data[i];
        result.add(compare(check.result, got, check.want, tolerances(test, storage, check.want)));
    }
    return result;
}

CaseResult run(const Device& device, const OracleCase& test, const OracleCall& call, DType storage,
               const Kernel& kernel) {
    try {
        NodeDump ran = run_alone(device, call.call, narrow_inputs(call.call, call.inputs), kernel);
        CaseResult result = judged(test, call, storage, results_of(ran));
        if (result.status == CaseResult::failed) result.keep(std::move(ran));
        return result;
    } catch (const Error& error) {
        return CaseResult::of_error(error);
    }
}

}  // namespace

std::vector<OracleCase> read_oracle_cases(const std::string& directory) {
    const std::filesystem::path folder(directory);
    const std::string list = (folder / "ops.json").string();
    const Json tree = read_json(list);
    const JsonFields fields(tree, list);
    const SafeTensors tensors((folder / "ops.safetensors").string());
    std::vector<OracleCase> cases;
    for (std::size_t i = 0; i < fields.list("cases").size(); ++i)
        cases.push_back(read_case(tensors, fields.element("cases", i)));
    return cases;
}

bool run_oracle_case(const Device& device, const OracleCase& test, const std::function<bool(const OracleCall&)>& wanted,
                     const std::string& only_kernel, const OracleVisitor& visit) {
    if (!test.not_supported.empty()) return true;
    const auto skipped = [&](const char* kernel) { return !only_kernel.empty() && only_kernel != kernel; };
    for (DType storage : test.storages)
        for (const OracleCall& call : test.calls(storage)) {
            if (wanted && !wanted(call)) continue;
            if (call.call.op == nullptr) {  // a table of the host, always f32
                if (storage != DType::f32 || skipped("host")) continue;
                if (!visit({test, call, storage, "host", judged(test, call, storage, call.made_on_host)})) return false;
                continue;
            }
            for (const Kernel& kernel : call.call.op->kernels) {
                if (skipped(kernel.name) || !eligible(kernel, call.call, device.caps())) continue;
                if (!visit({test, call, storage, kernel.name, run(device, test, call, storage, kernel)})) return false;
            }
        }
    return true;
}

}  // namespace vantage::internal
