// Choices of the kernels that use cooperative matrices.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>

#include "runtime/base/internal.h"
#include "shaders/params/quantized.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// The largest of the device's matrix shapes that fit; null if none does. Sides must be powers of two, at least 8.
template <class Fits>
const CooperativeMatrix* largest_matrix(const Caps& caps, const Fits& fits) {
    const auto usable = [](std::uint32_t side) { return side >= 8 && std::has_single_bit(side); };
    const CooperativeMatrix* best = nullptr;
    for (const CooperativeMatrix& one : caps.cooperative_matrices)
        if (usable(one.m) && usable(one.n) && usable(one.k) && fits(one) &&
            (best == nullptr || one.m * one.n * one.k > best->m * best->n * best->k))
            best = &one;
    return best;
}

/// That of f16 factors and f32 sums. Kernels load vectors of eight f16.
inline const CooperativeMatrix* f16_matrix(const Caps& caps) {
    return largest_matrix(
        caps, [](const CooperativeMatrix& one) { return one.a == "f16" && one.b == "f16" && one.c == "f32"; });
}

/// That of bytes, sums of 32 bits, and a k that divides a block of quants. The device must also have sums in f32 of
/// this shape, of any factors: scales make floats of the sums.
inline const CooperativeMatrix* int8_matrix(const Caps& caps) {
    return largest_matrix(caps, [&](const CooperativeMatrix& one) {
        const auto is_of_floats = [&](const CooperativeMatrix& other) {
            return other.c == "f32" && other.m == one.m && other.n == one.n;
        };
        return one.a == "s8" && one.b == "s8" && one.c == "s32" && one.k <= params::QUANT_BLOCK &&
               std::ranges::any_of(caps.cooperative_matrices, is_of_floats);
    });
}

/// Whether products of bytes are faster than those of halves: their matrices are longer in k, or the device has 8-bit
/// floats, and there are enough sums to be worth the scales.
bool bytes_are_faster(const Caps& caps);

/// The subgroup size for matrices of this shape: where it can be chosen, the columns of a matrix or the nearest
/// supported size. Intel's matrix units require it, and RDNA's need half the registers with 32 lanes instead of 64.
inline std::uint32_t matrix_subgroup(const CooperativeMatrix& shape, const Caps& caps) {
    if (!caps.subgroup_size_control) return caps.subgroup_size;
    return std::clamp(shape.n, caps.min_subgroup_size, caps.max_subgroup_size);
}

/// How the factors lie in memory: rows of a and columns of b along k, or along m and n.
struct FactorLayout {
    bool a_along_k = true, b_along_k = true;
};

/// How a workgroup of lib/matrix_tile.glsl is shaped.
struct MatrixTile {
    std::uint32_t m, n, k;  ///< that the device multiplies at once
    std::uint32_t subgroup, subgroups_m, subgroups_n, repeat_m, repeat_n, depth;
    std::uint32_t rows() const { return m * subgroups_m * repeat_m; }
    std::uint32_t cols() const { return n * subgroups_n * repeat_n; }
    std::uint32_t lanes() const { return subgroup * subgroups_m * subgroups_n; }
    /// With a slice in shared memory, in the end M rows of sums of each subgroup, and `more` bytes of the kernel.
    bool fits(const FactorLayout& layout, const Caps& caps, std::uint32_t more = 0) const;
    /// Slices in shared memory: two if two workgroups still fit a processor. One where matrices have 8 rows (Intel):
    /// there the second takes more instructions than the barrier that it saves.
    std::uint32_t buffers(const FactorLayout& layout, const Caps& caps) const;
    /// The same for lib/matrix_bytes.glsl: a slice is a block of 32 bytes of each line, as long as one of 16 halves, or
    /// of 32 where the 8 bytes of a matrix's line are kept as 16; and its scale.
    MatrixTile of_bytes() const;
    std::uint32_t scale_bytes() const { return 2 * (rows() + cols()) * static_cast<std::uint32_t>(sizeof(float)); }
};
/// The constants of a kernel that has lib/matrix_tile.glsl, with those of the tile set.
template <class Constants>
Constants with_tile(Constants constants, const MatrixTile& tile, const FactorLayout& layout, const Caps& caps) {
    constants.M = tile.m, constants.N = tile.n, constants.K = tile.k;
    constants.SUBGROUPS_M = tile.subgroups_m, constants.SUBGROUPS_N = tile.subgroups_n;
    constants.REPEAT_M = tile.repeat_m, constants.REPEAT_N = tile.repeat_n;
    constants.DEPTH = tile.depth, constants.BUFFERS = tile.buffers(layout, caps);
    return constants;
}

/// The largest tile that fits a device, and that so many rows and workgroups, groups(tile), fill or nearly fill; the
/// smallest where none does.
MatrixTile matrix_tile(const CooperativeMatrix& shape, const FactorLayout& layout, std::int64_t rows,
                       const std::function<std::uint64_t(const MatrixTile&)>& groups, const Caps& caps);

}  // namespace vantage::internal
