#include "runtime/ops/matmul_kernels.h"

#include <algorithm>

#include "runtime/ops/activation.h"
#include "shaders/params/quantized.h"

namespace vantage::internal::ops::matmul {

std::int64_t leading_size(const Shape& shape, int from_inner) {
    const int i = shape.rank() - 3 - from_inner;
    return i >= 0 ? shape[i] : 1;
}

MatmulSizes matmul_sizes(const OpCall& call) {
    const Shape &a = call.in(a_).shape, &b = call.in(b_).shape;
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    MatmulSizes s{.m = ta ? a[-1] : a[-2], .n = tb ? b[-2] : b[-1], .k = ta ? a[-2] : a[-1]};
    s.inner = std::max(leading_size(a, 0), leading_size(b, 0));
    s.outer = std::max(leading_size(a, 1), leading_size(b, 1));
    const std::int64_t a_matrix = s.m * s.k, b_matrix = s.n * s.k;
    s.a_stride = {leading_size(a, 1) > 1 ? a_matrix * leading_size(a, 0) : 0, leading_size(a, 0) > 1 ? a_matrix : 0};
    s.b_stride = {leading_size(b, 1) > 1 ? b_matrix * leading_size(b, 0) : 0, leading_size(b, 0) > 1 ? b_matrix : 0};
    // one matrix b for all batches: the batches of a are simply more rows
    if (s.b_stride[0] == 0 && s.b_stride[1] == 0 && !ta && s.batches() > 1 && leading_size(a, 0) == s.inner &&
        leading_size(a, 1) == s.outer) {
        s.m *= s.batches();
        s.outer = s.inner = 1;
        s.a_stride = {0, 0};
    }
    return s;
}

Launch matmul_launch(const OpCall& call, const char* shader, std::vector<std::uint32_t> constants,
                     const MatmulSizes& s) {
    Launch l{
        .shader = shader, .spec = std::move(constants), .operands = {in(a_), in(b_), in(bias_), in(residual_), out(0)}};
    return l.with(params::MatmulParams{.m = u32(s.m),
                                       .n = u32(s.n),
                                       .k = u32(s.k),
                                       .batches = u32(s.batches()),
                                       .inner_batches = u32(s.inner),
                                       .a_outer = u32(s.a_stride[0]),
                                       .a_inner = u32(s.a_stride[1]),
                                       .b_outer = u32(s.b_stride[0]),
                                       .b_inner = u32(s.b_stride[1]),
                                       .k_per_split = u32(s.k),
                                       .k_splits = 1,
                                       .alpha = static_cast<float>(call.attrs.number("alpha", 1)),
                                       .beta = static_cast<float>(call.attrs.number("beta", 1))});
}

LaunchPlan launch_plain(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t lanes = workgroup_size(caps);
    Launch l = matmul_launch(call, "matmul_plain", matmul_constants<params::MatmulConstants>(call, lanes), s);
    l.groups = flat_grid(ceil_div(s.batches() * s.m * s.n, lanes), caps);
    return l;
}

bool has_many_rows(const OpCall& call) { return matmul_sizes(call).m > 8 && !call.attrs.flag("any_rows"); }

bool has_few_rows(const OpCall& call, std::int64_t at_most) {
    const MatmulSizes s = matmul_sizes(call);
    return s.m >= 1 && (s.m <= at_most || call.attrs.flag("any_rows")) && s.batches() == 1 && s.k > 0 &&
           call.attrs.flag("transpose_b") && !call.attrs.flag("transpose_a");
}

std::uint32_t rows_at_once(std::int64_t m, const Caps& caps) {
    return m == 1 ? 1 : m <= 4 || caps.max_workgroup_invocations <= 256 ? 4 : 8;
}

bool has_octets(DType weights, std::int64_t k) {
    return (weights == DType::f16 || weights == DType::bf16) && k % 8 == 0;
}

std::uint32_t lanes_of_subgroup(const Caps& caps) { return std::clamp(caps.subgroup_size, 8u, 64u); }

bool fits_rows(const OpCall& call, const Caps& caps) {
    return has_few_rows(call) && !fits_quantized_rows(call, caps);  // that one reads them faster
}

namespace {

LaunchPlan rows_by(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes) {
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t rows = rows_at_once(s.m, caps);
    Launch l = matmul_launch(
        call, shader,
        matmul_constants<params::MatmulRowsConstants>(
            call, lanes, {.ROWS = rows, .STEP = step_of(s.k), .OCTETS = has_octets(call.in(b_).dtype, s.k)}),
        s);
    l.groups = flat_grid(ceil_div(s.n, 4), caps);
    l.groups[2] = ceil_div(s.m, rows);
    return l;
}

}  // namespace

LaunchPlan launch_rows(const OpCall& call, const Caps& caps) { return rows_by(call, caps, "matmul_rows", 32); }
LaunchPlan launch_rows_subgroup(const OpCall& call, const Caps& caps) {
    return rows_by(call, caps, "matmul_rows_subgroup", lanes_of_subgroup(caps));
}

bool fits_quantized_rows(const OpCall& call, const Caps&) {
    const MatmulSizes s = matmul_sizes(call);
    return has_few_rows(call) && is_quantized(call.in(b_).dtype) && s.k % 32 == 0;
}

// For CPU devices, and for devices without subgroup arithmetic.
bool fits_quantized(const OpCall& call, const Caps& caps) {
    return fits_quantized_rows(call, caps) && (caps.is_cpu() || !caps.subgroup_arithmetic);
}

// On Intel GPUs the lanes of a subgroup share its registers: 32 lanes, or 4 columns for several rows, spill.
QuantizedTeam quantized_team(std::int64_t m, const Caps& caps) {
    const bool wide = caps.subgroup_size_control && caps.min_subgroup_size <= 16 && caps.max_subgroup_size > 16;
    if (wide) return {.lanes = 16, .cols = m > 1 ? 2u : 4u, .subgroup_size = 16};
    return {.lanes = lanes_of_subgroup(caps), .cols = 4, .subgroup_size = 0};
}

namespace {

// `cols` columns for each workgroup, `each` of them by the same lanes.
Launch quantized_by(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes, std::uint32_t cols,
                    std::uint32_t each) {
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t rows = rows_at_once(s.m, caps);
    Launch l = matmul_launch(
        call, shader,
        matmul_constants<params::MatmulQuantizedRowsConstants>(
            call, lanes, {.ROWS = rows, .COLS = each, .ALIGNED = s.k % info(call.in(b_).dtype).elements == 0}),
        s);
    l.groups = flat_grid(ceil_div(s.n, cols), caps);
    l.groups[2] = ceil_div(s.m, rows);
    return l;
}

}  // namespace

LaunchPlan launch_quantized(const OpCall& call, const Caps& caps) {
    const std::uint32_t lanes = std::clamp(caps.subgroup_size, 4u, 64u);
    return quantized_by(call, caps, "matmul_quantized", lanes, 2 * lanes, 2);
}
Launch quantized_by_team(const OpCall& call, const Caps& caps, const char* shader, const QuantizedTeam& team) {
    Launch l = quantized_by(call, caps, shader, team.lanes, team.cols, team.cols);
    l.subgroup_size = team.subgroup_size;
    return l;
}
LaunchPlan launch_quantized_subgroup(const OpCall& call, const Caps& caps) {
    return quantized_by_team(call, caps, "matmul_quantized_subgroup", quantized_team(matmul_sizes(call).m, caps));
}

}  // namespace vantage::internal::ops::matmul
