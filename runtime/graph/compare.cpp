#include "runtime/graph/compare.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"

namespace vantage::internal {

namespace {

double largest_magnitude(const HostTensor& tensor) {
    double largest = 0;
    for (const double value : tensor.data)
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    return largest;
}

/// What is allowed of the elements of a tensor.
struct Allowance {
    double absolute, relative;

    Allowance(DType type, const HostTensor& want, const Tolerances& tolerances, const Attrs& attrs) {
        const bool integer = type == DType::i32 || type == DType::u32, bytes = attrs.flag("int8_operands"),
                   narrow = type == DType::f16 || type == DType::bf16 || attrs.flag("f16_operands") || bytes;
        const Tolerance& tolerance = bytes ? tolerances.int8 : narrow ? tolerances.f16 : tolerances.f32;
        const double coarser = type == DType::bf16 ? 8 : 1;  // bf16 keeps three bits less than f16
        absolute = integer ? 0 : tolerance.absolute * (narrow ? coarser * root_mean_square(want) : 1);
        relative = integer ? 0 : tolerance.relative * coarser;
        // a quotient that is rounded otherwise is one quant: the scale of the largest block at most
        if (is_quantized(type)) absolute = largest_magnitude(want) / (type == DType::q8_0 ? 126 : 7);
    }
    double of(double want) const {
        return absolute + (std::isfinite(want) ? relative * std::abs(want) : 0);  // no share of infinity
    }
    static double error(double got, double want) {
        if (std::isinf(want) && got == want) return 0;
        return std::isfinite(got) && std::isfinite(want) ? std::abs(got - want) : HUGE_VAL;
    }
};

}  // namespace

std::string position_text(const Shape& shape, std::int64_t index) {
    std::string text;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        text = std::to_string(index % shape[i]) + (text.empty() ? "" : ",") + text;
        index /= shape[i];
    }
    return "[" + text + "]";
}

double root_mean_square(const HostTensor& tensor) {
    double sum = 0;
    std::size_t count = 0;
    for (double value : tensor.data)
        if (std::isfinite(value)) sum += value * value, ++count;
    return count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

Tolerances tolerances_of_size(Tolerances tolerances, const HostTensor& want) {
    tolerances.f32.absolute *= std::max(1.0, root_mean_square(want));
    return tolerances;
}

Comparison compare(const std::string& name, const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                   const Attrs& attrs) {
    const Allowance allowance(got.type.dtype, want, tolerances, attrs);
    Comparison result;
    double worst_ratio = -1;
    std::int64_t worst_at = 0;
    for (std::int64_t i = 0; i < std::ssize(want.data); ++i) {
        const double error = Allowance::error(got[i], want[i]), allowed = allowance.of(want[i]);
        const double ratio = error == 0 ? 0 : error / std::max(allowed, 1e-300);
        if (error > allowed) ++result.wrong;
        if (ratio > worst_ratio) worst_ratio = ratio, worst_at = i, result.worst = error, result.allowed = allowed;
    }
    result.passed = result.wrong == 0;
    if (!result.passed)
        result.message =
            format("{}{} got {:.8g}, want {:.8g}: off by {:.3g}, allowed {:.3g}; {} of {} elements wrong; {} is {}",
                   name, position_text(want.type.shape, worst_at), got[worst_at], want[worst_at],
                   std::abs(got[worst_at] - want[worst_at]), result.allowed, result.wrong, want.data.size(), name,
                   got.type.text());
    return result;
}

std::vector<WrongElement> wrong_elements(const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                                         const Attrs& attrs, std::size_t max_count) {
    const Allowance allowance(got.type.dtype, want, tolerances, attrs);
    std::vector<WrongElement> wrong;
    for (std::int64_t i = 0; i < std::ssize(want.data) && wrong.size() < max_count; ++i)
        if (const double allowed = allowance.of(want[i]); Allowance::error(got[i], want[i]) > allowed)
            wrong.push_back({i, got[i], want[i], allowed});
    return wrong;
}

}  // namespace vantage::internal
