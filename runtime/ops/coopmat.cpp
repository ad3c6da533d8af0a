#include "runtime/ops/coopmat.h"

#include <algorithm>
#include <array>

namespace vantage::internal {

namespace {

// Lines of 8-element vectors, each line padded by one.
std::uint32_t lines(std::uint32_t count, std::uint32_t length) { return count * (length / 8 + 1) * 16; }

// A tile of `rows` x `cols`. A lane of a large one holds 64 sums: 4 x 2 matrices, or 2 x 4 where they have 8 rows
// (Intel). Small ones spill there with as many, and matrices of 8 columns (Alchemist) where b lies along n.
MatrixTile tile_of(const CooperativeMatrix& shape, const FactorLayout& layout, std::uint32_t rows, std::uint32_t cols,
                   const Caps& caps) {
    MatrixTile t{.m = shape.m,
                 .n = shape.n,
                 .k = shape.k,
                 .subgroup = matrix_subgroup(shape, caps),
                 .repeat_m = 2,
                 .repeat_n = 2};
    const bool spills = shape.m < 16 && shape.n < 16 && !layout.b_along_k;
    if (rows >= 128 && !spills) (shape.m >= 16 ? t.repeat_m : t.repeat_n) = 4;
    t.subgroups_m = std::max(1u, rows / (t.m * t.repeat_m));
    t.subgroups_n = std::max(1u, cols / (t.n * t.repeat_n));
    t.depth = std::max(t.k, shape.m >= 16 ? 32u : 16u);
    return t;
}

std::uint32_t slice_bytes(const MatrixTile& t, const FactorLayout& layout) {
    return (layout.a_along_k ? lines(t.rows(), t.depth) : lines(t.depth, t.rows())) +
           (layout.b_along_k ? lines(t.cols(), t.depth) : lines(t.depth, t.cols()));
}

}  // namespace

bool MatrixTile::fits(const FactorLayout& layout, const Caps& caps, std::uint32_t more) const {
    const std::uint32_t sums = lines(subgroups_m * subgroups_n * m, repeat_n * n * 2);  // in f32
    return lanes() <= std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]) &&
           std::max(slice_bytes(*this, layout), sums) + more <= caps.max_shared_memory;
}

std::uint32_t MatrixTile::buffers(const FactorLayout& layout, const Caps& caps) const {
    return m >= 16 && 4 * slice_bytes(*this, layout) <= caps.max_shared_memory ? 2 : 1;
}

MatrixTile MatrixTile::of_bytes() const {
    MatrixTile t = *this;
    t.depth = k < 16 ? 32 : 16;
    return t;
}

bool bytes_are_faster(const Caps& caps) {
    const CooperativeMatrix *bytes = int8_matrix(caps), *halves = f16_matrix(caps);
    if (caps.is_cpu() || bytes == nullptr || halves == nullptr || bytes->m * bytes->n < 128) return false;
    const bool has_float8 =
        std::ranges::any_of(caps.cooperative_matrices, [](const CooperativeMatrix& one) { return one.a == "e4m3"; });
    return bytes->k > halves->k || has_float8;
}

MatrixTile matrix_tile(const CooperativeMatrix& shape, const FactorLayout& layout, std::int64_t rows,
                       const std::function<std::uint64_t(const MatrixTile&)>& groups, const Caps& caps) {
    constexpr std::array<std::array<std::uint32_t, 2>, 3> sizes{{{128, 128}, {64, 64}, {32, 64}}};
    constexpr std::uint32_t max_lanes = 512, enough_groups = 32;
    for (const auto& [most, cols] : sizes) {
        const MatrixTile t = tile_of(shape, layout, most, cols, caps);
        if (t.lanes() <= max_lanes && t.fits(layout, caps) && rows > most / 2 && groups(t) >= enough_groups) return t;
    }
    return tile_of(shape, layout, sizes.back()[0], sizes.back()[1], caps);
}

}  // namespace vantage::internal
