// The kernels of matmul (runtime/ops/matmul.cpp): which calls each takes, and how it is launched.
#pragma once

#include "runtime/ops/checks.h"
#include "runtime/ops/matmul.h"
#include "shaders/params/matmul.h"
#include "vantage/ops.h"

namespace vantage::internal::ops::matmul {

// Sizes of a call. Batches are the leading dimensions, at most two after broadcasting: (outer, inner).
struct MatmulSizes {
    std::int64_t m, n, k, outer = 1, inner = 1;
    std::array<std::int64_t, 2> a_stride{}, b_stride{};  // elements from batch to batch, (outer, inner); 0 = broadcast
    std::int64_t batches() const { return outer * inner; }
};

/// Batch dimension counted from the inside, 1 where absent.
std::int64_t leading_size(const Shape& shape, int from_inner);
MatmulSizes matmul_sizes(const OpCall& call);

/// Fills in MATMUL_CONSTANTS, which kernels with lib/matmul.glsl have among their specialization constants.
template <class Constants>
Constants matmul_constants(const OpCall& call, std::uint32_t lanes, Constants own = {}) {
    own.lanes = lanes;
    own.A_TYPE = storage_of(call.in(a_).dtype);
    own.B_TYPE = storage_of(call.in(b_).dtype);
    own.BIAS_TYPE = storage_of(call, {bias_, b_});
    own.TRANSPOSE_A = call.attrs.flag("transpose_a");
    own.TRANSPOSE_B = call.attrs.flag("transpose_b");
    own.ACTIVATION = static_cast<std::uint32_t>(activation_named(call.attrs.text("activation", "none")));
    return own;
}
/// A launch of such a kernel.
Launch matmul_launch(const OpCall& call, const char* shader, std::vector<std::uint32_t> constants,
                     const MatmulSizes& s);

/// The shape of a workgroup that computes a tile in registers: 16 lanes along its columns, 16 along its rows.
struct RegisterTile {
    std::uint32_t each_rows, each_cols;  ///< of a lane
    static constexpr std::uint32_t side = 16, quads = 4;
    std::uint32_t rows() const { return side * each_rows; }
    std::uint32_t cols() const { return side * each_cols; }
    static constexpr std::uint32_t lanes = side * side;
};
const RegisterTile& register_tile(const MatmulSizes& s, const Caps& caps);

/// A grid with one workgroup for each tile of `rows` x `cols`, batches in z; whether a device supports such a grid.
std::array<std::uint32_t, 3> tile_grid(const MatmulSizes& s, std::int64_t rows, std::int64_t cols);
bool fits_grid(const std::array<std::uint32_t, 3>& groups, const Caps& caps);
/// A launch with a workgroup for each tile. If tiles are too few to fill a device, k is split among several workgroups,
/// and a second launch adds their sums in order. The kernel includes lib/matmul_store.glsl; its slices have `depth`
/// elements of k.
struct TileSize {
    std::uint32_t rows, cols, depth;
};
LaunchPlan launch_tiles(const OpCall& call, const Caps& caps, const char* shader, std::vector<std::uint32_t> constants,
                        const TileSize& tile, std::uint32_t subgroup_size = 0);

/// More than 8 rows. With the attribute `any_rows` the kernels of few rows take any number: what they make of a row
/// does not depend on the others.
bool has_many_rows(const OpCall& call);
/// Few rows, b stored as [n, k]: bound by reading b once.
bool has_few_rows(const OpCall& call, std::int64_t at_most = 8);
bool fits_gemv_cpu(const OpCall& call, const Caps& caps);
LaunchPlan launch_gemv_cpu(const OpCall& call, const Caps& caps);
bool fits_gemm_cpu(const OpCall& call, const Caps& caps);
LaunchPlan launch_gemm_cpu(const OpCall& call, const Caps& caps);
/// Rows that a workgroup takes of `m` rows, 1 to 8. Small devices (256 invocations) have too few registers for 8 and
/// read b twice instead of spilling.
std::uint32_t rows_at_once(std::int64_t m, const Caps& caps);
/// Whether rows of few-row kernels are read by eight elements of 16 bits at a time.
bool has_octets(DType weights, std::int64_t k);
std::uint32_t lanes_of_subgroup(const Caps& caps);
LaunchPlan launch_plain(const OpCall& call, const Caps& caps);
bool fits_coopmat(const OpCall& call, const Caps& caps);
LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps);
/// As int8, on matrix units. It pays where they multiply bytes at a higher rate than halves: where a matrix of bytes is
/// longer in k, or the device has matrices of 8-bit floats too. Scales cost as much for each cell of a matrix, whatever
/// its k: those of fewer than 128 cells cost more than bytes save.
bool coopmat_int8_profitable(const OpCall& call, const Caps& caps);
bool fits_coopmat_int8(const OpCall& call, const Caps& caps);
LaunchPlan launch_coopmat_int8(const OpCall& call, const Caps& caps);
bool fits_coopmat2(const OpCall& call, const Caps& caps);
LaunchPlan launch_coopmat2(const OpCall& call, const Caps& caps);
bool fits_tiled(const OpCall& call, const Caps& caps);
LaunchPlan launch_tiled(const OpCall& call, const Caps& caps);
bool fits_wide(const OpCall& call, const Caps& caps);
bool wide_profitable(const OpCall& call, const Caps& caps);
LaunchPlan launch_wide(const OpCall& call, const Caps& caps);
bool fits_fp16(const OpCall& call, const Caps& caps);
LaunchPlan launch_fp16(const OpCall& call, const Caps& caps);
/// As fp16, with sums in f32.
LaunchPlan launch_float_dot(const OpCall& call, const Caps& caps);
bool fp16_profitable(const OpCall& call, const Caps& caps);
bool fits_int8(const OpCall& call, const Caps& caps);
LaunchPlan launch_int8(const OpCall& call, const Caps& caps);
bool fits_rows(const OpCall& call, const Caps& caps);
LaunchPlan launch_rows(const OpCall& call, const Caps& caps);
LaunchPlan launch_rows_subgroup(const OpCall& call, const Caps& caps);
bool fits_quantized(const OpCall& call, const Caps& caps);
LaunchPlan launch_quantized(const OpCall& call, const Caps& caps);
bool fits_int8_rows(const OpCall& call, const Caps& caps);
LaunchPlan launch_int8_rows(const OpCall& call, const Caps& caps);
/// Whether the call allows the kernels that multiply quantised weights with rows rounded to bytes.
bool fits_int8_weights(const OpCall& call);
/// Whether rows [m, k] can be rounded to bytes: whole blocks, whose bytes kernels count in 31 bits.
bool can_round(std::int64_t m, std::int64_t k);
/// `plan` after a launch that rounds to bytes the rows [m, k] of `type` that its first launch has as `a`.
LaunchPlan after_rounding(const Caps& caps, LaunchPlan plan, Operand a, DType type, std::int64_t m, std::int64_t k);
bool int8_rows_profitable(const OpCall& call, const Caps& caps);
/// Lanes that share rows of quantized weights, the columns that they compute for `m` rows, and their subgroup size (0:
/// any).
struct QuantizedTeam {
    std::uint32_t lanes, cols, subgroup_size;
};
QuantizedTeam quantized_team(std::int64_t m, const Caps& caps);
/// The same where rows are rounded to bytes.
QuantizedTeam int8_team(std::int64_t m, const Caps& caps);
/// By such teams, with the constants of matmul/quantized_rows.comp.
Launch quantized_by_team(const OpCall& call, const Caps& caps, const char* shader, const QuantizedTeam& team);
bool fits_quantized_rows(const OpCall& call, const Caps& caps);
LaunchPlan launch_quantized_subgroup(const OpCall& call, const Caps& caps);

}  // namespace vantage::internal::ops::matmul
