#include "runtime/base/portable_math.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "runtime/base/at.h"

namespace vantage::internal {

namespace {

constexpr double ln2 = std::numbers::ln2, ln2_rest = 0x1.abc9e3b39803fp-56;  // together ln 2 to 106 bits

// 1/n!; the factorials are exact.
constexpr std::array<double, 19> reciprocal_factorials = [] {
    std::array<double, 19> all{};
    double factorial = 1;
    for (int n = 0; n < 19; ++n) at(all, n) = 1 / factorial, factorial *= n + 1;
    return all;
}();

}  // namespace

// x = 2^e m with m from √½ to √2:  ln x = e ln 2 + 2 artanh s,  s = (m - 1) / (m + 1),  artanh s = s + s³/3 + s⁵/5 + …
// |s| < 0.172, so the first term that is left out is below 2^-60 of the sum.
double portable_log(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);  // from 1/2 to 1
    if (m < std::numbers::sqrt2 / 2) m *= 2, --exponent;
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (const double term : {1 / 21., 1 / 19., 1 / 17., 1 / 15., 1 / 13., 1 / 11., 1 / 9., 1 / 7., 1 / 5., 1 / 3.})
        sum = std::fma(sum, square, term);
    const double artanh = std::fma(s * square, sum, s);
    return std::fma(exponent, ln2, std::fma(exponent, ln2_rest, 2 * artanh));
}

// x = k ln 2 + r with |r| up to ln 2 / 2:  e^x = 2^k (1 + r + r²/2! + …)
double portable_exp(double x) {
    const double k = std::round(x * std::numbers::log2e), r = std::fma(-k, ln2_rest, std::fma(-k, ln2, x));
    double sum = 0;
    for (int n = 14; n >= 0; --n) sum = std::fma(sum, r, at(reciprocal_factorials, n));
    return std::ldexp(sum, static_cast<int>(k));
}

// A number of quarter turns, and an angle x of up to an eighth of a turn to both sides, for which the series are short:
//   sin x = x - x³/3! + x⁵/5! - …,  cos x = 1 - x²/2! + x⁴/4! - …
CirclePoint portable_circle(double turns) {
    const double quarters = std::round(4 * turns), x = (4 * turns - quarters) * (std::numbers::pi / 2);
    const double minus_square = -x * x;
    double sine = 0, cosine = 0;
    for (int n = 16; n >= 0; n -= 2) {
        sine = std::fma(minus_square, sine, at(reciprocal_factorials, n + 1));
        cosine = std::fma(minus_square, cosine, at(reciprocal_factorials, n));
    }
    sine *= x;
    switch (static_cast<std::int64_t>(quarters) % 4) {
        case 0: return {cosine, sine};
        case 1: return {-sine, cosine};
        case 2: return {-cosine, -sine};
        default: return {sine, -cosine};
    }
}

}  // namespace vantage::internal
