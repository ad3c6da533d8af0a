// matmul in f16 arithmetic with f32 sums (matmul/fp16.comp): for devices without matrix units.
#include "runtime/ops/checks.h"
#include "runtime/ops/matmul_kernels.h"

namespace vantage::internal::ops::matmul {

// Rounds operands and products, which the call must allow; f32 weights are never rounded (docs/decisions.md). Both
// operands must be contiguous along k.
bool fits_fp16(const OpCall& call, const Caps& caps) {
    return call.attrs.flag("f16_operands") && call.in(b_).dtype != DType::f32 && call.attrs.flag("transpose_b") &&
           !call.attrs.flag("transpose_a") && matmul_sizes(call).k > 0 && fits_tiled(call, caps);
}

// A subgroup size of 64 identifies GPUs that multiply two f16 in one instruction and have enough registers (GCN, RDNA).
// By the estimates of their compilers, others gain nothing (docs/performance.md); `vantage tune` measures it.
bool fp16_profitable(const OpCall&, const Caps& caps) { return !caps.is_cpu() && caps.max_subgroup_size == 64; }

namespace {

LaunchPlan launch(const OpCall& call, const Caps& caps, const char* shader) {
    const MatmulSizes s = matmul_sizes(call);
    const RegisterTile& tile = register_tile(s, caps);
    const params::MatmulFp16Constants own{
        .EACH_ROWS = tile.each_rows, .STEP_N = step_of(s.n), .STEP_K = s.k % 8 == 0 ? 8u : 1u};
    return launch_tiles(call, caps, shader, matmul_constants(call, RegisterTile::lanes, own),
                        {.rows = tile.rows(), .cols = tile.cols(), .depth = 16});
}

}  // namespace

LaunchPlan launch_fp16(const OpCall& call, const Caps& caps) { return launch(call, caps, "matmul_fp16"); }
LaunchPlan launch_float_dot(const OpCall& call, const Caps& caps) { return launch(call, caps, "matmul_float_dot"); }

}  // namespace vantage::internal::ops::matmul
