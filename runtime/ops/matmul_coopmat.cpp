// matmul on matrix units (GL_KHR_cooperative_matrix, GL_NV_cooperative_matrix2): f16 operands, f32 sums.
#include <algorithm>

#include "runtime/ops/checks.h"
#include "runtime/ops/coopmat.h"
#include "runtime/ops/matmul_kernels.h"

namespace vantage::internal::ops::matmul {

namespace {

// How a workgroup is shaped (lib/matmul_matrices.glsl).
struct MatrixTile {
    std::uint32_t m, n, k;  // that the device multiplies at once
    std::uint32_t subgroup, subgroups_m, subgroups_n, repeat_m, repeat_n, depth;
    std::uint32_t rows() const { return m * subgroups_m * repeat_m; }
    std::uint32_t cols() const { return n * subgroups_n * repeat_n; }
    std::uint32_t lanes() const { return subgroup * subgroups_m * subgroups_n; }
    // Lines of 8-element vectors, each line padded by one; in the end M rows of sums of each subgroup, padded likewise.
    static std::uint32_t lines(std::uint32_t count, std::uint32_t length) { return count * (length / 8 + 1) * 16; }
    std::uint32_t slice_bytes(bool a_along_k, bool b_along_k) const {
        return (a_along_k ? lines(rows(), depth) : lines(depth, rows())) +
               (b_along_k ? lines(cols(), depth) : lines(depth, cols()));
    }
    std::uint32_t sum_bytes() const { return subgroups_m * subgroups_n * m * (repeat_n * n / 4 + 1) * 16; }
};

// A tile of `rows` x `cols`. A lane of a large one holds 64 sums: 4 x 2 matrices, or 2 x 4 where they have 8 rows
// (Intel). Small ones spill there with as many, and matrices of 8 columns (Alchemist) where b lies along n.
MatrixTile tile_of(const OpCall& call, const CooperativeMatrix& shape, std::uint32_t rows, std::uint32_t cols,
                   const Caps& caps) {
    MatrixTile t{.m = shape.m,
                 .n = shape.n,
                 .k = shape.k,
                 .subgroup = matrix_subgroup(shape, caps),
                 .repeat_m = 2,
                 .repeat_n = 2};
    const bool spills = shape.m < 16 && shape.n < 16 && !call.attrs.flag("transpose_b");
    if (rows >= 128 && !spills) (shape.m >= 16 ? t.repeat_m : t.repeat_n) = 4;
    t.subgroups_m = std::max(1u, rows / (t.m * t.repeat_m));
    t.subgroups_n = std::max(1u, cols / (t.n * t.repeat_n));
    t.depth = std::max(t.k, shape.m >= 16 ? 32u : 16u);
    return t;
}

std::uint32_t shared_bytes(const MatrixTile& t, const OpCall& call, std::uint32_t buffers) {
    return std::max(buffers * t.slice_bytes(!call.attrs.flag("transpose_a"), call.attrs.flag("transpose_b")),
                    t.sum_bytes());
}

// Slices in shared memory: two if two workgroups still fit a processor; one where matrices have 8 rows (Intel): the
// second takes more instructions there than the barrier that it saves.
std::uint32_t buffers_for(const MatrixTile& t, std::uint32_t bytes, const Caps& caps) {
    return t.m >= 16 && 4 * bytes <= caps.max_shared_memory ? 2 : 1;
}

// The first that fits a device and fills it (or nearly); the smallest where none does.
MatrixTile tile_for(const OpCall& call, const MatmulSizes& s, const CooperativeMatrix& shape, const Caps& caps) {
    constexpr std::array<std::array<std::uint32_t, 2>, 3> sizes{{{128, 128}, {64, 64}, {32, 64}}};
    constexpr std::uint32_t max_lanes = 512, enough_groups = 32;
    for (const auto& [rows, cols] : sizes) {
        const MatrixTile t = tile_of(call, shape, rows, cols, caps);
        const auto groups = tile_grid(s, t.rows(), t.cols());
        const bool fits =
            t.lanes() <= std::min({max_lanes, caps.max_workgroup_invocations, caps.max_workgroup_size[0]}) &&
            shared_bytes(t, call, 1) <= caps.max_shared_memory;
        if (fits && s.m > rows / 2 && std::uint64_t{groups[0]} * groups[1] * groups[2] >= enough_groups) return t;
    }
    return tile_of(call, shape, sizes.back()[0], sizes.back()[1], caps);
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
    return t.lanes() <= caps.max_workgroup_invocations && t.lanes() <= caps.max_workgroup_size[0] &&
           shared_bytes(t, call, 1) <= caps.max_shared_memory && fits_grid(tile_grid(s, t.rows(), t.cols()), caps);
}

namespace {

LaunchPlan launch_matrices(const OpCall& call, const Caps& caps, const char* shader) {
    const MatmulSizes s = matmul_sizes(call);
    const MatrixTile t = tile_for(call, s, *f16_matrix(caps), caps);
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    const auto vectors = [](std::int64_t line) { return line % 8 == 0 ? 8u : 1u; };
    const params::MatmulCoopmatConstants own{.M = t.m,
                                             .N = t.n,
                                             .K = t.k,
                                             .SUBGROUPS_M = t.subgroups_m,
                                             .SUBGROUPS_N = t.subgroups_n,
                                             .REPEAT_M = t.repeat_m,
                                             .REPEAT_N = t.repeat_n,
                                             .DEPTH = t.depth,
                                             .STEP_A = vectors(ta ? s.m : s.k),
                                             .STEP_B = vectors(tb ? s.k : s.n),
                                             .STEP_N = step_of(s.n),
                                             .BUFFERS = buffers_for(t, t.slice_bytes(!ta, tb), caps),
                                             .TAIL = s.k % t.depth > 0};
    return launch_tiles(call, caps, shader, matmul_constants(call, t.lanes(), own), {t.rows(), t.cols(), t.depth},
                        t.subgroup);
}

}  // namespace

LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    return launch_matrices(call, caps, "matmul_coopmat");
}

// Elements are stored one by one. Two 16-bit elements share a word and would need an atomic each.
bool fits_coopmat2(const OpCall& call, const Caps& caps) {
    return call.in(a_).dtype == DType::f32 && fits_coopmat(call, caps);
}
LaunchPlan launch_coopmat2(const OpCall& call, const Caps& caps) {
    return launch_matrices(call, caps, "matmul_coopmat2");
}

}  // namespace vantage::internal::ops::matmul
