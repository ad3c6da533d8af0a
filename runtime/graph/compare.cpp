#include "runtime/graph/compare.h"

#include <cmath>

#include "runtime/base/format.h"

namespace vantage::internal {

namespace {

std::string position(const Shape& shape, std::int64_t flat) {
    std::string text;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        text = std::to_string(flat % shape[i]) + (text.empty() ? "" : ",") + text;
        flat /= shape[i];
    }
    return "[" + text + "]";
}

}  // namespace

double root_mean_square(const HostTensor& tensor) {
    double sum = 0;
    std::size_t count = 0;
    for (double value : tensor.data)
        if (std::isfinite(value)) sum += value * value, ++count;
    return count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

Comparison compare(const std::string& name, const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                   const Attrs& attrs) {
    const DType type = got.type.dtype;
    const bool integer = type == DType::i32 || type == DType::u32, bytes = attrs.flag("int8_operands"),
               narrow = type == DType::f16 || type == DType::bf16 || attrs.flag("f16_operands") || bytes;
    const Tolerance& tolerance = bytes ? tolerances.int8 : narrow ? tolerances.f16 : tolerances.f32;
    const double coarser = type == DType::bf16 ? 8 : 1;  // bf16 keeps three bits less than f16
    const double absolute = integer ? 0 : tolerance.absolute * (narrow ? coarser * root_mean_square(want) : 1);
    const double relative = integer ? 0 : tolerance.relative * coarser;
    Comparison result;
    double worst_ratio = -1;
    std::int64_t worst_at = 0;
    for (std::int64_t i = 0; i < std::ssize(want.data); ++i) {
        const double g = got[i], w = want[i];
        if (std::isinf(w) && g == w) continue;
        const double error = std::isfinite(g) && std::isfinite(w) ? std::abs(g - w) : HUGE_VAL;
        const double allowed = absolute + (std::isfinite(w) ? relative * std::abs(w) : 0);  // no share of infinity
        const double ratio = error == 0 ? 0 : error / std::max(allowed, 1e-300);
        if (error > allowed) ++result.wrong;
        if (ratio > worst_ratio) worst_ratio = ratio, worst_at = i, result.worst = error, result.allowed = allowed;
    }
    result.passed = result.wrong == 0;
    if (!result.passed)
        result.message =
            format("{}{} got {:.8g}, want {:.8g}: off by {:.3g}, allowed {:.3g}; {} of {} elements wrong; {} is {}",
                   name, position(want.type.shape, worst_at), got[worst_at], want[worst_at],
                   std::abs(got[worst_at] - want[worst_at]), result.allowed, result.wrong, want.data.size(), name,
                   got.type.text());
    return result;
}

}  // namespace vantage::internal
