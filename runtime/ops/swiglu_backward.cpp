// The gradients of a gated linear unit y = f(gate) (up + offset) by gate and up, in the layout that these have.
//   dgate = dy (up + offset) f'(gate), 0 where gate was limited;  dup = dy f(gate), 0 where up was limited
#include <algorithm>

#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/swiglu.h"
#include "shaders/params/activation.h"
#include "shaders/params/swiglu_backward.h"

namespace vantage::internal {

namespace ops::swiglu_backward {
namespace {

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "silu")); }
bool interleaved(const OpCall& call) { return call.attrs.flag("interleaved"); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType& gate = call.in(gate_);
    Shape y = gate.shape;
    if (!call.has(up_)) {
        call.require(y.rank() > 0 && y[-1] % 2 == 0, operand_is(call, gate_) + ", which has an odd number of columns");
        y[-1] /= 2;
    }
    require_type(call, up_, gate);
    static_cast<void>(call.in(dy_));
    require_type(call, dy_, {y, gate.dtype});
    return call.has(up_) ? std::vector{gate, gate} : std::vector{gate};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(dy_).shape[-1];
    const double limit = call.attrs.number("limit"), offset = call.attrs.number("up_offset");
    for (std::int64_t i = 0; i < call.in(dy_).shape.elements(); ++i) {
        const bool packed = !call.has(up_);
        const std::int64_t at = !packed             ? i
                                : interleaved(call) ? 2 * i
                                                    : i / cols * 2 * cols + i % cols,
                           up_at = !packed ? i : at + (interleaved(call) ? 1 : cols);
        const double raw = in[gate_][at], raw_up = packed ? in[gate_][up_at] : in[up_][up_at], dy = in[dy_][i],
                     gate = limit > 0 ? std::min(raw, limit) : raw,
                     up = limit > 0 ? std::clamp(raw_up, -limit, limit) : raw_up;
        out[0][at] = gate == raw ? dy * (up + offset) * activation_slope(kind_of(call), gate) : 0;
        out[packed ? 0 : 1][up_at] = up == raw_up ? dy * activation_value(kind_of(call), gate) : 0;
    }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, 24.0 * static_cast<double>(call.in(dy_).shape.elements()));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& dy = call.in(dy_);
    const std::uint32_t step = call.has(up_) ? 4 : interleaved(call) ? 1 : step_of(dy.shape[-1]);
    Launch l{.shader = "swiglu_backward",
             .spec =
                 params::SwigluBackwardConstants{
                     .lanes = workgroup_size(caps), .X_TYPE = storage_of(dy.dtype), .STEP = step},
             .operands = {in(gate_), in(up_), in(dy_), out(0), call.has(up_) ? out(1) : no_operand},
             .groups = element_grid(dy.shape.elements(), step, caps)};
    return l.with(params::SwigluBackwardParams{.count = u32(dy.shape.elements()),
                                               .cols = u32(dy.shape[-1]),
                                               .kind = u32(kind_of(call)),
                                               .interleaved = interleaved(call),
                                               .limit = static_cast<float>(call.attrs.number("limit")),
                                               .up_offset = static_cast<float>(call.attrs.number("up_offset"))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, const Shape& gate, const Shape& y, const Attrs& attrs) {
        list.push_back({.name = name,
                        .attrs = attrs,
                        .inputs = {{.type = TensorType{gate}, .high = 3},
                                   {.type = only_if(gate == y, TensorType{gate}), .high = 2},
                                   floats(y)}});
    };
    add("silu 5x33", {5, 33}, {5, 33}, {});
    add("gelu_tanh 4x48", {4, 48}, {4, 48}, {{"kind", "gelu_tanh"}});
    add("limited", {3, 8}, {3, 8}, {{"limit", 1.5}});
    add("packed 5x48", {5, 48}, {5, 24}, {});
    add("packed 2x3x34", {2, 3, 34}, {2, 3, 17}, {{"kind", "relu"}});
    add("by turns, limited", {5, 22}, {5, 11},
        {{"kind", "quick_gelu"}, {"interleaved", true}, {"limit", 2.0}, {"up_offset", 1.0}});
    add("empty", {0, 8}, {0, 8}, {});
    return list;
}

}  // namespace

const OpDef swiglu_backward_op =
    define_op("swiglu_backward", "dgate = dy (up + offset) f'(gate), dup = dy f(gate)", operand_names, infer, reference,
              cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace ops::swiglu_backward

}  // namespace vantage::internal
