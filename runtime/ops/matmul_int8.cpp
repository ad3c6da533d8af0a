// matmul of quantized weights with rows rounded to int8, by dot products of four bytes. Several rows are rounded by a
// launch before.

#include <algorithm>

#include "runtime/ops/checks.h"
#include "runtime/ops/matmul_kernels.h"
#include "shaders/params/quantized.h"

namespace vantage::internal::ops::matmul {

bool fits_int8_weights(const OpCall& call) {
    const MatmulSizes s = matmul_sizes(call);
    return call.attrs.flag("int8_operands") && has_byte_kernels(call.in(b_).dtype) && call.attrs.flag("transpose_b") &&
           !call.attrs.flag("transpose_a") && s.batches() == 1 && can_round(s.m, s.k);
}

bool can_round(std::int64_t m, std::int64_t k) {
    return m > 0 && k > 0 && k % params::QUANT_BLOCK == 0 && m * k < std::int64_t{1} << 31;
}

LaunchPlan after_rounding(const Caps& caps, LaunchPlan plan, Operand a, DType type, std::int64_t m, std::int64_t k) {
    const std::int64_t blocks = m * k / params::QUANT_BLOCK;
    const auto rows = static_cast<int>(plan.scratch.size());
    const std::uint32_t lanes = 64;
    Launch round{.shader = "matmul_round_rows",
                 .spec = params::MatmulConstants{.lanes = lanes, .A_TYPE = storage_of(type)},
                 .operands = {a, no_operand, no_operand, no_operand, scratch_out(rows)},
                 .groups = flat_grid(ceil_div(blocks, lanes), caps)};
    plan.scratch.push_back(static_cast<std::uint64_t>(blocks) * (params::QUANT_BLOCK + sizeof(float)));
    plan.launches.front().replace(a, scratch_in(rows));
    plan.launches.insert(plan.launches.begin(), round.with(params::MatmulParams{.m = u32(m), .k = u32(k)}));
    return plan;
}

bool fits_int8_rows(const OpCall& call, const Caps& caps) {
    return fits_int8_weights(call) && fits_quantized_rows(call, caps);
}
bool int8_rows_profitable(const OpCall&, const Caps& caps) { return caps.integer_dot_accelerated; }
// One row is rounded by the lanes that multiply it, because a launch before would only delay the reading of weights.
// Eight columns share its rounding. The order of sums depends on the subgroup's size, so it is the same for any m. On
// Intel GPUs the smallest one, of quads at least, has the most registers for each lane.
QuantizedTeam int8_team(std::int64_t m, const Caps& caps) {
    QuantizedTeam team = quantized_team(m, caps);
    team.cols = m == 1 ? 8 : 4;
    const std::uint32_t least = std::max(4U, caps.min_subgroup_size);
    if (caps.subgroup_size_control && caps.min_subgroup_size < caps.max_subgroup_size)
        team.subgroup_size = team.subgroup_size != 0 ? least : std::clamp(team.lanes, least, caps.max_subgroup_size);
    return team;
}
LaunchPlan launch_int8_rows(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const Launch product = quantized_by_team(call, caps, "matmul_int8_rows", int8_team(s.m, caps));
    if (s.m == 1) return product;
    return after_rounding(caps, product, in(a_), call.in(a_).dtype, s.m, s.k);
}

bool fits_int8(const OpCall& call, const Caps& caps) { return fits_int8_weights(call) && fits_tiled(call, caps); }
LaunchPlan launch_int8(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const RegisterTile& tile = register_tile(s, caps);
    const params::MatmulInt8Constants own{.EACH_ROWS = tile.each_rows, .STEP_N = step_of(s.n)};
    return after_rounding(caps,
                          launch_tiles(call, caps, "matmul_int8", matmul_constants(call, RegisterTile::lanes, own),
                                       {tile.rows(), tile.cols(), params::QUANT_BLOCK}),
                          in(a_), call.in(a_).dtype, s.m, s.k);
}

}  // namespace vantage::internal::ops::matmul
