// Sinusoidal positions, a constant made on the host in double.
//   PE[p, 2i] = sin(p / base^(2i/dim)),  PE[p, 2i + 1] = cos(p / base^(2i/dim))
// Vaswani et al. 2017, section 3.5; or all sines and then all cosines, as in tensor2tensor.
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "vantage/ops.h"

namespace vantage {

namespace {
void check(std::int64_t n, std::int64_t dim, double base, bool interleaved) {
    if (n < 0 || dim < 0 || (dim % 2 != 0 && !interleaved) || !(base > 0))
        throw usage_error(
            "sinusoidal_positions: n = {}, dim = {}, base = {:g}, but sizes must be 0 or more, dim even "
            "where sines and cosines lie apart, base above 0",
            n, dim, base);
}
}  // namespace

std::vector<float> sinusoidal_table(std::int64_t n, std::int64_t dim, double base, bool interleaved) {
    check(n, dim, base, interleaved);
    const std::int64_t half = (dim + 1) / 2;
    std::vector<float> table(static_cast<std::size_t>(n * dim));
    for (std::int64_t p = 0; p < n; ++p)
        for (std::int64_t col = 0; col < dim; ++col) {
            const std::int64_t i = interleaved ? col / 2 : col % half;
            const bool cosine = interleaved ? col % 2 != 0 : col >= half;
            const double angle =
                static_cast<double>(p) * std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dim));
            at(table, p * dim + col) = static_cast<float>(cosine ? std::cos(angle) : std::sin(angle));
        }
    return table;
}

Tensor sinusoidal_positions(Graph& graph, std::int64_t n, std::int64_t dim, double base, bool interleaved) {
    check(n, dim, base, interleaved);
    const std::string name = format("sinusoidal.{}x{}.base={:.17g}{}", n, dim, base, interleaved ? "" : ".concat");
    return graph.constant(name, {n, dim}, [=] { return sinusoidal_table(n, dim, base, interleaved); });
}

}  // namespace vantage
