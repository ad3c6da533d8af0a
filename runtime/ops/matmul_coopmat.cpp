// matmul on matrix units (GL_KHR_cooperative_matrix, GL_NV_cooperative_matrix2): f16 operands, f32 sums.
#include "runtime/ops/checks.h"
#include "runtime/ops/coopmat.h"
#include "runtime/ops/matmul_kernels.h"

namespace vantage::internal::ops::matmul {

namespace {

FactorLayout layout_of(const OpCall& call) {
    return {.a_along_k = !call.attrs.flag("transpose_a"), .b_along_k = call.attrs.flag("transpose_b")};
}

MatrixTile tile_for(const OpCall& call, const MatmulSizes& s, const CooperativeMatrix& shape, const Caps& caps) {
    const auto groups = [&](const MatrixTile& t) {
        const auto grid = tile_grid(s, t.rows(), t.cols());
        return std::uint64_t{grid[0]} * grid[1] * grid[2];
    };
    return matrix_tile(shape, layout_of(call), s.m, groups, caps);
}

}  // namespace

// f16 operands lose nothing: their products are exact in f32. Other operands are rounded only if the call allows it,
// and an f32 b, such as weights, only if it says so as well.
bool fits_coopmat(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const CooperativeMatrix* shape = f16_matrix(caps);
    if (shape == nullptr || !has_many_rows(call) || s.k == 0) return false;
    const bool exact = call.in(a_).dtype == DType::f16 && call.in(b_).dtype == DType::f16;
    const bool rounds_b = call.in(b_).dtype != DType::f32 || call.attrs.flag("f16_weights");
    if (!exact && !(call.attrs.flag("f16_operands") && rounds_b)) return false;
    const MatrixTile t = tile_for(call, s, *shape, caps);
    return t.fits(layout_of(call), caps) && fits_grid(tile_grid(s, t.rows(), t.cols()), caps);
}

namespace {

LaunchPlan launch_matrices(const OpCall& call, const Caps& caps, const char* shader) {
    const MatmulSizes s = matmul_sizes(call);
    const MatrixTile t = tile_for(call, s, *f16_matrix(caps), caps);
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    const auto vectors = [](std::int64_t line) { return line % 8 == 0 ? 8u : 1u; };
    const params::MatmulCoopmatConstants own{.STEP_A = vectors(ta ? s.m : s.k),
                                             .STEP_B = vectors(tb ? s.k : s.n),
                                             .STEP_N = step_of(s.n),
                                             .TAIL = s.k % t.depth > 0};
    return launch_tiles(call, caps, shader, matmul_constants(call, t.lanes(), with_tile(own, t, layout_of(call), caps)),
                        {t.rows(), t.cols(), t.depth}, t.subgroup);
}

}  // namespace

LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    return launch_matrices(call, caps, "matmul_coopmat");
}

namespace {

MatrixTile byte_tile(const OpCall& call, const MatmulSizes& s, const Caps& caps) {
    return tile_for(call, s, *int8_matrix(caps), caps).of_bytes();
}

}  // namespace

bool fits_coopmat_int8(const OpCall& call, const Caps& caps) {
    if (!fits_int8_weights(call) || !has_many_rows(call) || !caps.int8 || int8_matrix(caps) == nullptr) return false;
    const MatmulSizes s = matmul_sizes(call);
    if (!can_round(s.n, s.k)) return false;  // it counts bytes of b in 32 bits
    const MatrixTile t = byte_tile(call, s, caps);
    return t.fits(layout_of(call), caps, t.scale_bytes()) && fits_grid(tile_grid(s, t.rows(), t.cols()), caps);
}
bool coopmat_int8_profitable(const OpCall&, const Caps& caps) { return bytes_are_faster(caps); }
LaunchPlan launch_coopmat_int8(const OpCall& call, const Caps& caps) {
    const MatmulSizes s = matmul_sizes(call);
    const MatrixTile t = byte_tile(call, s, caps);
    const params::MatmulCoopmatConstants own{.STEP_N = step_of(s.n), .TAIL = false};
    return after_rounding(caps,
                          launch_tiles(call, caps, "matmul_coopmat_int8",
                                       matmul_constants(call, t.lanes(), with_tile(own, t, layout_of(call), caps)),
                                       {t.rows(), t.cols(), params::QUANT_BLOCK}, t.subgroup),
                          in(a_), call.in(a_).dtype, s.m, s.k);
}

// Elements are stored one by one. Two 16-bit elements share a word and would need an atomic each.
bool fits_coopmat2(const OpCall& call, const Caps& caps) {
    return call.in(a_).dtype == DType::f32 && fits_coopmat(call, caps);
}
LaunchPlan launch_coopmat2(const OpCall& call, const Caps& caps) {
    return launch_matrices(call, caps, "matmul_coopmat2");
}

}  // namespace vantage::internal::ops::matmul
