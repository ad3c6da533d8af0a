// Matrix units, as the kernels that use them see them.
#pragma once

#include <algorithm>
#include <bit>

#include "vantage/caps.h"

namespace vantage {

/// The largest shape of f16 products with f32 sums that a device multiplies at once; its sides have to be powers of two from 8 on, which
/// is what vectors of eight halves ask for. Null when there is none.
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

/// Matrices are shared out over a subgroup. Where its size can be chosen, the columns of a matrix or the next to it: that is
/// what the matrix units of Intel take, and RDNA's need half the registers with 32 lanes instead of 64.
inline std::uint32_t matrix_subgroup(const CooperativeMatrix& shape, const Caps& caps) {
    if (!caps.subgroup_size_control) return caps.subgroup_size;
    return std::clamp(shape.n, caps.min_subgroup_size, caps.max_subgroup_size);
}

}  // namespace vantage
