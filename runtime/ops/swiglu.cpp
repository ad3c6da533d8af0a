// Gated linear units: y = f(gate) (up + offset), element by element. f is the attribute `kind`: silu (SwiGLU) or
// another activation, as gelu_tanh (GEGLU). Without `up` the rows of gate are [gate | up], or both by turns; a limit,
// where there is one, comes first: gate ≤ limit, |up| ≤ limit (gpt-oss). Shazeer, "GLU Variants Improve Transformer"
// (2020).
#include "runtime/ops/swiglu.h"

#include <algorithm>
#include <utility>

#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "shaders/params/activation.h"
#include "shaders/params/swiglu.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::swiglu {
namespace {

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "silu")); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(kind_of(call) >= 0 && kind_of(call) <= ACTIVATION_TANH,
                 "kind is " + call.attrs.text("kind") + ", which gates nothing");
    const TensorType& gate = call.in(gate_);
    call.require(call.attrs.number("limit") >= 0, "limit must be 0 (none) or more");
    call.require(!call.attrs.flag("interleaved") || !call.has(up_),
                 "interleaved gate and up are one tensor, gate, but up is given");
    if (call.has(up_)) {
        call.require(call.in(up_) == gate, operand_is(call, up_) + ", but gate is " + gate.text());
        return {gate};
    }
    call.require(gate.shape.rank() > 0 && gate.shape[-1] % 2 == 0,
                 operand_is(call, gate_) + ", which has an odd number of columns: without up, rows are [gate | up]");
    Shape half = gate.shape;
    half[-1] /= 2;
    return {{half, gate.dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.out(0).shape[-1];
    const double limit = call.attrs.number("limit"), offset = call.attrs.number("up_offset");
    const auto parts = [&](std::int64_t i) -> std::pair<double, double> {
        if (call.has(up_)) return {in[gate_][i], in[up_][i]};
        const std::int64_t first = call.attrs.flag("interleaved") ? 2 * i : i / cols * 2 * cols + i % cols;
        return {in[gate_][first], in[gate_][first + (call.attrs.flag("interleaved") ? 1 : cols)]};
    };
    for (std::int64_t i = 0; i < call.out(0).shape.elements(); ++i) {
        auto [gate, up] = parts(i);
        if (limit > 0) gate = std::min(gate, limit), up = std::clamp(up, -limit, limit);
        out[0][i] = activation_value(kind_of(call), gate) * (up + offset);
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 10.0 * static_cast<double>(call.out(0).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& y = call.out(0);
    // the halves of a row begin on whole steps only if rows do
    const std::uint32_t step = call.has(up_) ? 4 : call.attrs.flag("interleaved") ? 1 : step_of(y.shape[-1]);
    Launch l{
        .shader = "swiglu",
        .spec = params::SwigluConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(y.dtype), .STEP = step},
        .operands = {in(gate_), in(up_), out(0)},
        .groups = element_grid(y.shape.elements(), step, caps)};
    return l.with(params::SwigluParams{.count = u32(y.shape.elements()),
                                       .cols = u32(y.shape[-1]),
                                       .kind = u32(kind_of(call)),
                                       .interleaved = call.attrs.flag("interleaved"),
                                       .limit = static_cast<float>(call.attrs.number("limit")),
                                       .up_offset = static_cast<float>(call.attrs.number("up_offset"))});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    return add_call(g.inputs[gate_].graph(), swiglu_backward_op, {g.inputs[gate_], g.inputs[up_], g.gradients[0]},
                    g.call.attrs, g.where);
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* kind, Shape shape) {
        const TensorType type{shape, DType::f32};
        list.push_back({.name = std::string(kind) + " " + shape.text(),
                        .attrs = {{"kind", kind}},
                        .inputs = {{.type = type, .high = 3}, {.type = type}}});
    };
    add("silu", {1});
    add("silu", {5, 33});
    add("silu", {3, 2048});
    add("gelu_tanh", {4, 48});
    add("gelu_erf", {3, 7});
    add("silu", {0, 8});
    for (const Shape& packed : {Shape{3, 34}, Shape{5, 48}, Shape{2, 3, 8}, Shape{0, 6}})
        list.push_back({.name = "packed " + packed.text(),
                        .attrs = {{"kind", "silu"}},
                        .inputs = {{.type = TensorType{packed}, .high = 3}, {}}});
    list.push_back({.name = "by turns, limited",
                    .attrs = {{"kind", "quick_gelu"}, {"interleaved", true}, {"limit", 2.0}, {"up_offset", 1.0}},
                    .inputs = {{.type = TensorType{Shape{5, 22}}, .high = 3}, {}}});
    list.push_back(
        {.name = "limited",
         .attrs = {{"limit", 1.5}},
         .inputs = {{.type = TensorType{Shape{3, 8}}, .high = 3}, {.type = TensorType{Shape{3, 8}}, .high = 3}}});
    return list;
}

}  // namespace

const OpDef swiglu_op =
    define_op("swiglu", "y = silu(gate) up, or with kind=gelu_tanh GEGLU (Shazeer 2020)", operand_names, infer,
              reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace internal::ops::swiglu

Tensor swiglu(Tensor gate, Tensor up, Gating gating, SourceLocation where) {
    Attrs attrs;
    if (gating.activation != Activation::silu) attrs.set("kind", name_of(gating.activation));
    if (gating.interleaved) attrs.set("interleaved", true);
    if (gating.limit != 0) attrs.set("limit", gating.limit);
    if (gating.up_offset != 0) attrs.set("up_offset", gating.up_offset);
    return add_call(gate.graph(), swiglu_op, {gate, up}, attrs, where)[0];
}

}  // namespace vantage
