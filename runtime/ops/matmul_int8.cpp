// matmul of quantized weights with rows rounded to int8, by dot products of four bytes. The first of two launches
// rounds.

#include "runtime/ops/checks.h"
#include "runtime/ops/matmul_kernels.h"
#include "shaders/params/quantized.h"

namespace vantage::internal::ops::matmul {

namespace {

bool fits_int8_weights(const OpCall& call) {
    const MatmulSizes s = matmul_sizes(call);
    constexpr std::int64_t addressable = std::int64_t{1} << 31;  // bytes of rows
    return call.attrs.flag("int8_operands") && is_quantized(call.in(b_).dtype) && call.attrs.flag("transpose_b") &&
           !call.attrs.flag("transpose_a") && s.batches() == 1 && s.m > 0 && s.k > 0 &&
           s.k % params::QUANT_BLOCK == 0 && s.m * s.k < addressable;
}

// `plan` after a launch that rounds; its first launch reads the rounded rows in place of a.
LaunchPlan after_rounding(const OpCall& call, const Caps& caps, LaunchPlan plan) {
    const MatmulSizes s = matmul_sizes(call);
    const std::int64_t blocks = s.m * s.k / params::QUANT_BLOCK;
    const auto rows = static_cast<int>(plan.scratch.size());
    const std::uint32_t lanes = 64;
    // all else is the product's: one pipeline for all calls
    const params::MatmulConstants constants{.lanes = lanes, .A_TYPE = storage_of(call.in(a_).dtype)};
    Launch round = matmul_launch(call, "matmul_round_rows", constants, s);
    round.replace(out(0), scratch_out(rows));
    round.groups = flat_grid(ceil_div(blocks, lanes), caps);
    plan.scratch.push_back(static_cast<std::uint64_t>(blocks) * (params::QUANT_BLOCK + sizeof(float)));
    plan.launches.front().replace(in(a_), scratch_in(rows));
    plan.launches.insert(plan.launches.begin(), round);
    return plan;
}

}  // namespace

bool fits_int8_rows(const OpCall& call, const Caps& caps) {
    return fits_int8_weights(call) && fits_quantized_rows(call, caps);
}
// One row is bound by reading weights, which its rounding only delays. Where one row is not rounded and results may not
// depend on their number, several are not either.
bool int8_rows_profitable(const OpCall& call, const Caps& caps) {
    return caps.integer_dot_accelerated && matmul_sizes(call).m > 1 && !call.attrs.flag("any_rows");
}
LaunchPlan launch_int8_rows(const OpCall& call, const Caps& caps) {
    return after_rounding(call, caps, quantized_by_subgroup(call, caps, "matmul_int8_rows", 4));
}

bool fits_int8(const OpCall& call, const Caps& caps) { return fits_int8_weights(call) && fits_tiled(call, caps); }
LaunchPlan launch_int8(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const RegisterTile& tile = register_tile(s, caps);
    const params::MatmulInt8Constants own{.EACH_ROWS = tile.each_rows, .STEP_N = step_of(s.n)};
    return after_rounding(call, caps,
                          launch_tiles(call, caps, "matmul_int8", matmul_constants(call, RegisterTile::lanes, own),
                                       {tile.rows(), tile.cols(), params::QUANT_BLOCK}));
}

}  // namespace vantage::internal::ops::matmul
