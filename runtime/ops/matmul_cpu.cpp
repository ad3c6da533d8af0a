// matmul on CPU devices, where lanes are those of a vector unit: registers instead of shared memory, no barriers.
#include "runtime/ops/matmul_kernels.h"

namespace vantage::internal::ops::matmul {

namespace {

// The panels of gemm_cpu.
struct Panels {
    std::uint32_t lanes;  // rows of each of a, and columns of each of b
    std::uint32_t depth;  // k that the loop takes at a time: more of them hide more latency, but the kernel grows
    std::uint32_t k;      // padded to a multiple of depth
    std::int64_t rows, columns;  // panels of a matrix a and b
    std::int64_t batches_b;      // 1 where all share b
    std::uint64_t bytes(std::int64_t count) const {
        return static_cast<std::uint64_t>(count * lanes) * k * sizeof(float);
    }
};
Panels panels_of(const MatmulSizes& s, const Caps& caps) {
    const std::uint32_t lanes = caps.subgroup_size, depth = s.k >= 32 ? 32 : 4 * ceil_div(s.k, 4);
    const bool shared = s.b_stride[0] == 0 && s.b_stride[1] == 0;
    return {.lanes = lanes,
            .depth = depth,
            .k = depth * ceil_div(s.k, depth),
            .rows = ceil_div(s.m, lanes),
            .columns = ceil_div(s.n, lanes),
            .batches_b = shared ? 1 : s.batches()};
}

// Rows up to which walking along b again for each eight of them costs less than putting b into panels.
std::int64_t most_gemv_rows(const OpCall& call) { return call.in(b_).dtype == DType::f32 ? 48 : 8; }

}  // namespace

// A round takes 8 k a lane, or two blocks of 32 of quantized weights, whose rows must begin with a group of blocks.
bool fits_gemv_cpu(const OpCall& call, const Caps& caps) {
    const bool quantized = is_quantized(call.in(b_).dtype);
    const std::uint32_t lanes = caps.subgroup_size;
    return caps.is_cpu() && caps.subgroup_shuffle && (lanes == 8 || (!quantized && (lanes == 4 || lanes == 16))) &&
           has_few_rows(call, most_gemv_rows(call)) && (!quantized || has_byte_kernels(call.in(b_).dtype)) &&
           matmul_sizes(call).k % (quantized ? 256 : 8 * lanes) == 0;
}

LaunchPlan launch_gemv_cpu(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t rows = s.m == 1 ? 1 : s.m <= 4 ? 4 : 8, cols = 16 / rows;
    Launch l = matmul_launch(
        call, "matmul_gemv_cpu",
        matmul_constants<params::MatmulGemvCpuConstants>(call, caps.subgroup_size, {.ROWS = rows, .COLS = cols}), s);
    l.groups = flat_grid(ceil_div(s.n, cols), caps);
    l.groups[2] = ceil_div(s.m, rows);
    return l;
}

bool fits_gemm_cpu(const OpCall& call, const Caps& caps) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;  // of b's panels, beside b
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t lanes = caps.subgroup_size;
    const bool quantized = is_quantized(call.in(b_).dtype);
    // A transposed a is that of a gradient, for whose few rows no other kernel is made.
    const bool fills =
        has_many_rows(call) || (call.attrs.flag("transpose_a") && !call.attrs.flag("any_rows") && s.m > 1);
    if (!caps.is_cpu() || !fills || (lanes != 4 && lanes != 8 && lanes != 16) || s.k < 1) return false;
    if (quantized && ((call.attrs.flag("transpose_b") ? s.k : s.n) % 32 != 0 || s.batches() > 1)) return false;
    const Panels p = panels_of(s, caps);
    const std::array<std::uint32_t, 3> maximum = caps.max_workgroup_count;
    return p.bytes(p.batches_b * p.columns) <= max_bytes && p.columns <= maximum[0] && p.rows <= maximum[0] &&
           p.columns <= maximum[1] && s.batches() <= std::min(maximum[1], maximum[2]);
}

LaunchPlan launch_gemm_cpu(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const Panels p = panels_of(s, caps);
    LaunchPlan plan;
    plan.scratch = {p.bytes(s.batches() * p.rows), p.bytes(p.batches_b * p.columns)};
    const auto pack = [&](bool of_b) {
        Launch l = matmul_launch(call, "matmul_gemm_cpu_pack",
                                 matmul_constants<params::MatmulGemmCpuPackConstants>(
                                     call, p.lanes, {.DEPTH = p.depth, .OF_B = of_b, .STEP = s.k % 4 == 0 ? 4U : 1U}),
                                 s);
        l.replace(out(0), scratch_out(of_b ? 1 : 0));
        l.groups = {u32(of_b ? p.columns : p.rows), u32(of_b ? p.batches_b : s.batches()), 1};
        return l;
    };
    Launch multiply =
        matmul_launch(call, "matmul_gemm_cpu",
                      matmul_constants<params::MatmulGemmCpuConstants>(call, p.lanes, {.DEPTH = p.depth}), s);
    multiply.replace(in(a_), scratch_in(0)).replace(in(b_), scratch_in(1));
    multiply.groups = {u32(p.rows), u32(p.columns), u32(s.batches())};
    plan.launches = {pack(false), pack(true), multiply};
    return plan;
}

}  // namespace vantage::internal::ops::matmul
