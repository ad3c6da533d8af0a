#include "runtime/conform/oracle_calls.h"
#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal::oracle {

OracleCall call_of(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    OracleCall made{.op = op, .inputs = std::move(inputs)};
    made.call.op = find_op(op);
    made.call.attrs = std::move(attrs);
    made.inputs.resize(made.call.op->operands.size());
    for (const HostTensor& input : made.inputs)
        made.call.inputs.push_back(!input.data.empty() || input.type.shape.rank() > 0 ? std::optional(input.type)
                                                                                      : std::nullopt);
    made.call.outputs = made.call.op->infer(made.call);
    return made;
}

void expect_result(OracleCall& call, int output, const std::string& name, HostTensor want) {
    const TensorType& type =
        call.call.op != nullptr ? at(call.call.outputs, output) : at(call.made_on_host, output).type;
    if (type.shape.elements() != want.type.shape.elements())
        throw unsupported_error(call.op + " gives " + name + " as " + type.text() + ", but the case has " +
                                want.type.text());
    call.checks.push_back({.result = name, .output = output, .want = std::move(want)});
}

void expect_result(OracleReader& r, OracleCall& call, int output, const std::string& name) {
    expect_result(call, output, name, r.wanted(name));
}

void expect_if_there(OracleReader& r, OracleCall& call, int output, const std::string& name) {
    if (r.wants(name)) expect_result(r, call, output, name);
}

Calls one(OracleReader& r, OracleCall call, const std::string& name, const std::vector<const char*>& optional) {
    expect_result(r, call, 0, name);
    for (int output = 0; const char* later : optional) expect_if_there(r, call, ++output, later);
    return {call};
}

OracleCall host_call(const char* op, HostTensor made) { return {.op = op, .made_on_host = {std::move(made)}}; }

std::vector<HostTensor> all_made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    OracleCall call = call_of(op, std::move(inputs), std::move(attrs));
    std::vector<HostTensor> results(call.call.outputs.begin(), call.call.outputs.end());
    call.call.op->reference(call.call, call.inputs, results);
    return results;
}

HostTensor reshaped(HostTensor tensor, Shape shape) {
    if (tensor.type.shape.elements() != shape.elements())
        throw unsupported_error("{} as {}", tensor.type.text(), shape.text());
    tensor.type.shape = shape;
    return tensor;
}

HostTensor made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    return all_made_by(op, std::move(inputs), std::move(attrs)).front();
}

}  // namespace vantage::internal::oracle
