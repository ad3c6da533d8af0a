#include "runtime/inspect/effective_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vantage::internal {

namespace {

constexpr int max_sweeps = 30;
constexpr double orthogonal = 1e-10;  // |cos| of two columns

using Vector = std::vector<double>;

double inner(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Turns two columns so that they are orthogonal. Whether they were not; products up to `rounding` are 0.
bool rotate(Vector& a, Vector& b, double rounding) {
    const double aa = inner(a, a), bb = inner(b, b), ab = inner(a, b);
    if (!(std::abs(ab) > std::max(orthogonal * std::sqrt(aa * bb), rounding))) return false;
    const double zeta = (bb - aa) / (2 * ab);
    const double tangent = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
    const double cosine = 1 / std::hypot(1.0, tangent), sine = cosine * tangent;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a[i];
        a[i] = cosine * x - sine * b[i];
        b[i] = sine * x + cosine * b[i];
    }
    return true;
}

}  // namespace

std::vector<double> singular_values(std::span<const float> matrix, std::size_t rows, std::size_t columns,
                                    const std::function<void()>& each) {
    const bool turned = columns > rows;  // the shorter side has the columns
    const std::size_t count = std::min(rows, columns), length = std::max(rows, columns);
    std::vector<Vector> all(count, Vector(length));
    for (std::size_t c = 0; c < count; ++c)
        for (std::size_t i = 0; i < length; ++i)
            all[c][i] = static_cast<double>(turned ? matrix[c * columns + i] : matrix[i * columns + c]);
    const double rounding = 1e-15 * std::accumulate(all.begin(), all.end(), 0.0, [](double sum, const Vector& column) {
                                return sum + inner(column, column);
                            });
    bool turning = true;
    for (int sweep = 0; sweep < max_sweeps && turning; ++sweep) {
        if (each) each();
        turning = false;
        for (std::size_t a = 0; a < count; ++a)
            for (std::size_t b = a + 1; b < count; ++b) turning = rotate(all[a], all[b], rounding) || turning;
    }
    std::vector<double> values;
    for (const Vector& column : all) values.push_back(std::sqrt(inner(column, column)));
    std::ranges::sort(values, [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a > b; });
    return values;
}

double effective_rank(std::span<const double> singular_values) {
    const double sum = std::accumulate(singular_values.begin(), singular_values.end(), 0.0);
    if (std::isnan(sum)) return sum;
    double entropy = 0;
    for (const double value : singular_values)
        if (const double p = sum > 0 ? value / sum : 0; p > 0) entropy -= p * std::log(p);
    return sum > 0 ? std::exp(entropy) : 0;
}

}  // namespace vantage::internal
