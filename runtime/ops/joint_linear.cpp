// Several linear layers of the same rows in one launch, and a gated linear unit's two with the gate:
//   y_i = x w_iᵀ + bias_i, i < 3;   with the attribute `gate`   y = f(x w_0ᵀ + bias_0) (x w_1ᵀ + bias_1).
// x [.., k], w_i [n_i, k]. It has no function of the API: runtime/graph/merge_projections.cpp makes it from products of
// few rows. There a launch costs as much as its work, and each product would read x, and write and read the halves of
// the gate.
#include "runtime/ops/joint_linear.h"

#include "runtime/base/at.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/matmul_kernels.h"
#include "shaders/params/activation.h"
#include "shaders/params/joint_linear.h"
#include "shaders/params/quantized.h"

namespace vantage::internal {

namespace ops::joint_linear {
namespace {

int parts_of(const OpCall& call) { return call.has(w0_ + 2) ? 3 : 2; }
int gate_of(const OpCall& call) { return activation_kind(call.attrs.text("gate", "none")); }
std::int64_t rows_of(const OpCall& call) { return call.in(x_).shape.elements() / call.in(x_).shape[-1]; }

std::vector<TensorType> infer(const OpCall& call) {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
        if (!call.has(i)) continue;
        if (i >= w0_ && i < bias0_)
            require_weights(call, i);
        else
            call.require(is_float(call.in(i).dtype), operand_is(call, i) + ", but must be f32, f16 or bf16");
    }
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() >= 1 && x.shape.elements() > 0, operand_is(call, x_) + ", but must have elements");
    const int gate = gate_of(call), parts = parts_of(call);
    call.require(gate >= 0 && gate <= ACTIVATION_TANH, "gate is " + call.attrs.text("gate") + ", which gates nothing");
    call.require(gate == ACTIVATION_NONE || (parts == 2 && call.in(w0_).shape == call.in(w0_ + 1).shape),
                 "a gate has two weights of the same shape");
    std::vector<TensorType> results;
    for (int i = 0; i < parts; ++i) {
        const TensorType& w = call.in(w0_ + i);
        call.require(
            w.shape.rank() == 2 && w.shape[1] == x.shape[-1] && w.dtype == call.in(w0_).dtype,
            operand_is(call, w0_ + i) + ", but x is " + x.text() + " and the first weight " + call.in(w0_).text());
        if (call.has(bias0_ + i))
            call.require(call.in(bias0_ + i).shape == Shape{w.shape[0]},
                         operand_is(call, bias0_ + i) + ", but its weight is " + w.text());
        Shape y = x.shape;
        y[-1] = w.shape[0];
        results.push_back({y, x.dtype});
    }
    if (gate != ACTIVATION_NONE) results.pop_back();
    return results;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t width = call.in(x_).shape[-1];
    const auto product = [&](int i, std::int64_t row, std::int64_t col) {
        double sum = call.has(bias0_ + i) ? at(in, bias0_ + i)[col] : 0;
        for (std::int64_t k = 0; k < width; ++k) sum += in[x_][row * width + k] * at(in, w0_ + i)[col * width + k];
        return sum;
    };
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t n = out[i].type.shape[-1];
        for (std::int64_t at = 0; at < rows_of(call) * n; ++at) {
            out[i][at] = product(static_cast<int>(i), at / n, at % n);
            if (gate_of(call) != ACTIVATION_NONE)
                out[i][at] = activation_value(gate_of(call), out[i][at]) * product(1, at / n, at % n);
        }
    }
}

Cost cost(const OpCall& call) {
    double products = 0;
    for (int i = 0; i < parts_of(call); ++i) products += static_cast<double>(call.in(w0_ + i).shape.elements());
    return streaming_cost(call, 2 * static_cast<double>(rows_of(call)) * products);
}

static_assert(+linear_rope_write::w0_ == w0_ && +linear_rope_write::bias2_ == bias2_);
bool rotates(const OpCall& call) { return call.op == &linear_rope_write_op; }

// What linear_rope_write adds to a launch.
void add_rotation(const OpCall& call, Launch& l, params::JointLinearConstants& spec, params::JointLinearParams& p) {
    using namespace linear_rope_write;
    spec.HEAD = u32(call.out(q_out_).shape[-1]), spec.ROTARY = u32(call.in(table_).shape[1]);
    spec.INTERLEAVED = call.attrs.flag("interleaved"), spec.CACHE_TYPE = storage_of(call.in(k_state_).dtype);
    p.table_rows = u32(call.in(table_).shape[0]);
    p.cache_rows = u32(call.in(k_state_).shape[0] / rows_of(call));
    for (const Operand& operand : {out(q_out_), update(k_cache_), update(v_cache_), in(table_), in(step_)})
        l.operands.push_back(operand);
}

// A workgroup takes `cols` rows of weights; of a gate, half of them from each of its two weights.
Launch launch_by(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes, std::uint32_t cols) {
    const std::int64_t m = rows_of(call), k = call.in(x_).shape[-1];
    const auto n = [&](int i) { return i < parts_of(call) ? call.in(w0_ + i).shape[0] : 0; };
    const bool gated = gate_of(call) != ACTIVATION_NONE;
    const std::uint32_t rows = matmul::rows_at_once(m, caps);
    params::JointLinearConstants spec{.lanes = lanes,
                                      .X_TYPE = storage_of(call.in(x_).dtype),
                                      .W_TYPE = storage_of(call.in(w0_).dtype),
                                      .BIAS_TYPE = storage_of(call, {bias0_, bias0_ + 1, bias0_ + 2, w0_}),
                                      .GATE = u32(gate_of(call)),
                                      .ROWS = rows,
                                      .STEP = step_of(k),
                                      .COLS = cols,
                                      .ALIGNED = k % info(call.in(w0_).dtype).elements == 0,
                                      .OCTETS = matmul::has_octets(call.in(w0_).dtype, k)};
    Launch l{.shader = shader,
             .operands = {in(x_), in(w0_), in(w0_ + 1), in(w0_ + 2), in(bias0_), in(bias0_ + 1), in(bias0_ + 2)}};
    params::JointLinearParams p{.m = u32(m), .k = u32(k), .n0 = u32(n(0)), .n1 = u32(n(1)), .n2 = u32(n(2))};
    if (rotates(call)) {
        add_rotation(call, l, spec, p);
    } else {
        for (int i = 0; i < 3; ++i)
            l.operands.push_back(static_cast<std::size_t>(i) < call.outputs.size() ? out(i) : no_operand);
        l.operands.insert(l.operands.end(), 2, no_operand);
    }
    l.spec = spec;
    const std::int64_t width = gated ? cols / 2 : cols;
    std::int64_t groups = 0;
    for (int i = 0; i < (gated ? 1 : 3); ++i) groups += ceil_div(n(i), width);
    l.groups = flat_grid(groups, caps);
    l.groups[2] = ceil_div(m, rows);
    return l.with(p);
}

bool fits_quantized(const OpCall& call, const Caps&) {
    return is_quantized(call.in(w0_).dtype) && call.in(x_).shape[-1] % params::QUANT_BLOCK == 0;
}
bool fits_rows(const OpCall& call, const Caps& caps) { return !fits_quantized(call, caps); }

// As matmul's int8_rows, whose choice merge_projections keeps.
bool fits_int8(const OpCall& call, const Caps& caps) {
    return call.attrs.flag("int8_operands") && has_byte_kernels(call.in(w0_).dtype) && fits_quantized(call, caps) &&
           matmul::can_round(rows_of(call), call.in(x_).shape[-1]);
}
LaunchPlan launch_int8(const OpCall& call, const Caps& caps) {
    const std::int64_t m = rows_of(call);
    const matmul::QuantizedTeam team = matmul::int8_team(m, caps);
    Launch l = launch_by(call, caps, "joint_linear_int8", team.lanes, team.cols);
    l.subgroup_size = team.subgroup_size;
    if (m == 1) return l;
    return matmul::after_rounding(caps, l, in(x_), call.in(x_).dtype, m, call.in(x_).shape[-1]);
}

LaunchPlan launch_quantized_subgroup(const OpCall& call, const Caps& caps) {
    const matmul::QuantizedTeam team = matmul::quantized_team(rows_of(call), caps);
    Launch l = launch_by(call, caps, "joint_linear_quantized_subgroup", team.lanes, team.cols);
    l.subgroup_size = team.subgroup_size;
    return l;
}
LaunchPlan launch_quantized(const OpCall& call, const Caps& caps) {
    return launch_by(call, caps, "joint_linear_quantized", 32, 4);
}
LaunchPlan launch_rows_subgroup(const OpCall& call, const Caps& caps) {
    return launch_by(call, caps, "joint_linear_subgroup", matmul::lanes_of_subgroup(caps), 4);
}
LaunchPlan launch_rows(const OpCall& call, const Caps& caps) { return launch_by(call, caps, "joint_linear", 32, 4); }

// Sizes that end inside a workgroup; each case covers other types and forms.
std::vector<Case> cases() {
    return {{.name = "three of 1x64, bias",
             .inputs = {floats_of(DType::f32, {1, 64}),
                        floats_of(DType::f16, {37, 64}),
                        floats_of(DType::f16, {5, 64}),
                        floats_of(DType::f16, {12, 64}),
                        floats_of(DType::f16, {37}),
                        {},
                        floats_of(DType::f16, {12})}},
            {.name = "gate of 5x35, bias",
             .attrs = {{"gate", "silu"}},
             .inputs = {floats_of(DType::f32, {5, 35}),
                        floats_of(DType::f32, {19, 35}),
                        floats_of(DType::f32, {19, 35}),
                        {},
                        floats_of(DType::f32, {19}),
                        floats_of(DType::f32, {19}),
                        {}}},
            {.name = "three of 5x96, bias",
             .inputs = {floats_of(DType::f32, {5, 96}),
                        weights_of(DType::q8_0, {37, 96}),
                        weights_of(DType::q8_0, {6, 96}),
                        weights_of(DType::q8_0, {13, 96}),
                        floats_of(DType::f32, {37}),
                        {},
                        floats_of(DType::f32, {13})}},
            {.name = "two of 1x256 with minima",
             .inputs = {floats_of(DType::f32, {1, 256}),
                        weights_of(DType::q5_k, {19, 256}),
                        weights_of(DType::q5_k, {6, 256}),
                        {},
                        {},
                        {},
                        {}}},
            {.name = "gate of 3x96, two scales a block",
             .attrs = {{"gate", "silu"}},
             .inputs = {floats_of(DType::f32, {3, 96}),
                        weights_of(DType::q6_k, {19, 96}),
                        weights_of(DType::q6_k, {19, 96}),
                        {},
                        floats_of(DType::f32, {19}),
                        floats_of(DType::f32, {19}),
                        {}}},
            {.name = "gate of 1x96",
             .attrs = {{"gate", "gelu_tanh"}},
             .inputs = {floats_of(DType::f32, {1, 96}),
                        weights_of(DType::q4_0, {19, 96}),
                        weights_of(DType::q4_0, {19, 96}),
                        {},
                        {},
                        {},
                        {}}}};
}

}  // namespace

std::vector<Kernel> kernels() {
    return {{"int8", need_int8_dot | need_subgroup | need_quad, fits_int8, launch_int8},
            {"quantized_subgroup", need_subgroup, fits_quantized, launch_quantized_subgroup},
            {"quantized", need_nothing, fits_quantized, launch_quantized},
            {"rows_subgroup", need_subgroup, fits_rows, launch_rows_subgroup},
            {"rows", need_nothing, every_call, launch_rows}};
}

const OpDef joint_linear_op = define_op(
    "joint_linear",
    "y_i = x w_i^T + bias_i for two or three weights; with gate=f: y = f(x w_0^T + bias_0) (x w_1^T + bias_1)",
    operand_names, infer, reference, cost, kernels(), cases, of_fusion);

}  // namespace ops::joint_linear

}  // namespace vantage::internal
