// Choices of the kernels that use cooperative matrices.
#pragma once

#include <algorithm>
#include <bit>

#include "runtime/base/internal.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// The largest matrix shape with f16 factors and f32 sums; null if there is none. Its sides must be powers of two, at
/// least 8, because kernels load vectors of eight f16.
inline const CooperativeMatrix* f16_matrix(const Caps& caps) {
    const auto fits = [](std::uint32_t side) { return side >= 8 && std::has_single_bit(side); };
    const CooperativeMatrix* best = nullptr;
    for (const CooperativeMatrix& one : caps.cooperative_matrices) {
        if (one.a != "f16" || one.b != "f16" || one.c != "f32" || !fits(one.m) || !fits(one.n) || !fits(one.k))
            continue;
        if (best == nullptr || one.m * one.n * one.k > best->m * best->n * best->k) best = &one;
    }
    return best;
}

/// The subgroup size for matrices of this shape: where it can be chosen, the columns of a matrix or the nearest
/// supported size. Intel's matrix units require it, and RDNA's need half the registers with 32 lanes instead of 64.
inline std::uint32_t matrix_subgroup(const CooperativeMatrix& shape, const Caps& caps) {
    if (!caps.subgroup_size_control) return caps.subgroup_size;
    return std::clamp(shape.n, caps.min_subgroup_size, caps.max_subgroup_size);
}

}  // namespace vantage::internal
