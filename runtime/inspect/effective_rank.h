// The effective rank of a matrix: the exponential of the entropy of its singular values.
// Roy & Vetterli, "The Effective Rank: A Measure of Effective Dimensionality" (2007).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Singular values of a row-major matrix [rows, columns], in descending order, min(rows, columns) of them: one-sided
/// Jacobi rotations (Hestenes 1958). `each` is called before each sweep over all pairs of columns; there are about
/// ten. The cost of a sweep is rows × columns × min(rows, columns).
std::vector<double> singular_values(std::span<const float> matrix, std::size_t rows, std::size_t columns,
                                    const std::function<void()>& each = {});

/// exp(−Σ p_k ln p_k) with p_k = σ_k / Σ σ, from 1 to the number of values; 0 for a matrix of zeros, NaN for NaN.
double effective_rank(std::span<const double> singular_values);

}  // namespace vantage::internal
