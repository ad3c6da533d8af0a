// Gated linear units: y = f(gate) up, element by element. f is the attribute `kind`: silu (SwiGLU) or another
// activation, as gelu_tanh (GEGLU). Shazeer, "GLU Variants Improve Transformer" (2020).
#include "shaders/params/swiglu.h"
#include "runtime/graph/op.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "shaders/params/activation.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

enum : int { gate_, up_ };

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "silu")); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(kind_of(call) >= 0 && kind_of(call) <= ACTIVATION_TANH,
                 "kind is " + call.attrs.text("kind") + ", which gates nothing");
    call.require(call.in(up_) == call.in(gate_), operand_is(call, up_) + ", but gate is " + call.in(gate_).text());
    return {call.in(gate_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::size_t i = 0; i < in[gate_].data.size(); ++i)
        out[0].data[i] = activation_value(kind_of(call), in[gate_].data[i]) * in[up_].data[i];
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, 10.0 * static_cast<double>(call.in(gate_).shape.elements()));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& gate = call.in(gate_);
    Launch l{.shader = "swiglu",
             .spec = {workgroup_size(caps), storage_of(gate.dtype)},
             .operands = {in(gate_), in(up_), out(0)},
             .groups = element_grid(gate.shape.elements(), 4, caps)};
    return l.with(params::SwigluParams{.count = static_cast<std::uint32_t>(gate.shape.elements()),
                                       .kind = static_cast<std::uint32_t>(kind_of(call))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* kind, Shape shape) {
        const TensorType type{shape, DType::f32};
        list.push_back({.name = std::string(kind) + " " + shape.text(),
                        .attrs = {{"kind", std::string(kind)}},
                        .inputs = {{.type = type, .high = 3}, {.type = type}}});
    };
    add("silu", {1});
    add("silu", {5, 33});
    add("silu", {3, 2048});
    add("gelu_tanh", {4, 48});
    add("gelu_erf", {3, 7});
    add("silu", {0, 8});
    return list;
}

}  // namespace

extern const OpDef swiglu_op;
const OpDef swiglu_op = {
    .name = "swiglu",
    .summary = "y = silu(gate) up, or with kind=gelu_tanh GEGLU (Shazeer 2020)",
    .operands = {"gate", "up"},
    .infer = infer,
    .reference = reference,
    .cost = cost,
    .kernels = {{.name = "plain", .launch = launch}},
    .cases = cases,
};

Tensor swiglu(Tensor gate, Tensor up, Where where) { return gate.graph().call(swiglu_op, {gate, up}, {}, where)[0]; }

}  // namespace vantage
