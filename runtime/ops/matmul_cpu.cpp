// matmul on CPU devices, where lanes are those of a vector unit: registers instead of shared memory, no barriers.
#include "runtime/ops/matmul_kernels.h"

namespace vantage::internal::ops::matmul {

namespace {

// k that a loop takes at a time: more of them hide more latency, and kernels grow with them.
std::uint32_t depth_for(std::int64_t k, std::uint32_t depth) {
    while (k % depth != 0) depth /= 2;
    return depth;
}

}  // namespace

// A round takes 8 k a lane, or two blocks of 32 of quantized weights, whose rows must begin with a group of blocks.
bool fits_gemv_cpu(const OpCall& call, const Caps& caps) {
    const bool quantized = is_quantized(call.in(b_).dtype);
    const std::uint32_t lanes = caps.subgroup_size;
    return caps.is_cpu() && caps.subgroup_shuffle && (lanes == 8 || (!quantized && (lanes == 4 || lanes == 16))) &&
           has_few_rows(call) && matmul_sizes(call).k % (quantized ? 256 : 8 * lanes) == 0;
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

// Rows of b, in the order in which the kernel reads them, must begin on whole words or divide into blocks.
bool fits_gemm_cpu(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const bool transposed = call.attrs.flag("transpose_b"), quantized = is_quantized(call.in(b_).dtype);
    const bool whole_words = quantized ? transposed && s.k % 32 == 0 && s.batches() == 1
                                       : transposed || call.in(b_).dtype == DType::f32 || s.n % 2 == 0;
    const std::array<std::uint32_t, 3> maximum = caps.max_workgroup_count;
    return caps.is_cpu() && has_many_rows(call) && s.k > 0 && s.k % 4 == 0 && whole_words &&
           ceil_div(s.n, 64) <= maximum[0] && ceil_div(s.m, 16) <= maximum[1] && s.batches() <= maximum[2];
}

LaunchPlan launch_gemm_cpu(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const std::uint32_t lanes = 64, rows = s.m <= 16 ? 16 : 32, depth = depth_for(s.k, 16);
    const std::uint32_t panels = ceil_div(s.m, rows);
    const std::int64_t packed = s.batches() * panels * rows * s.k;  // elements
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(packed) * 4};
    Launch pack = matmul_launch(call, "matmul_gemm_cpu_pack",
                                matmul_constants<params::MatmulGemmCpuPackConstants>(call, lanes, {.ROWS = rows}), s);
    pack.replace(out(0), scratch_out(0));
    pack.groups = flat_grid(ceil_div(packed / 16, lanes), caps);
    Launch multiply =
        matmul_launch(call, "matmul_gemm_cpu",
                      matmul_constants<params::MatmulGemmCpuConstants>(call, lanes, {.ROWS = rows, .DEPTH = depth}), s);
    multiply.replace(in(a_), scratch_in(0));
    multiply.groups = {ceil_div(s.n, lanes), panels, u32(s.batches())};
    plan.launches = {pack, multiply};
    return plan;
}

}  // namespace vantage::internal::ops::matmul
