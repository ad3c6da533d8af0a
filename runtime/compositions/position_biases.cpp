// Biases of scores that stand for positions: ALiBi's slopes and T5's buckets of distances.
#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

// 2^(-8/n), 2^(-16/n), … for n heads, a power of two.
float slope(std::int64_t heads, std::int64_t head) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads)));
}

}  // namespace

std::vector<float> alibi_slopes(std::int64_t heads) {
    if (heads < 0) throw usage_error("alibi_slopes: there cannot be less than 0 heads");
    std::int64_t power = 1;
    while (2 * power <= heads) power *= 2;
    std::vector<float> slopes;
    for (std::int64_t head = 0; head < heads; ++head)
        slopes.push_back(head < power ? slope(power, head) : slope(2 * power, 2 * (head - power)));
    return slopes;
}

std::vector<std::int32_t> t5_relative_buckets(std::int64_t n, std::int64_t m, bool bidirectional, std::int64_t buckets,
                                              std::int64_t max_distance) {
    const std::int64_t side = bidirectional ? buckets / 2 : buckets, exact = side / 2;
    if (n < 0 || m < 0 || (m > 0 && n >= (std::int64_t{1} << 31) / m))
        throw usage_error("t5_relative_buckets: a table of that size makes no sense");
    if (exact < 1 || max_distance <= exact)
        throw usage_error("t5_relative_buckets: {} buckets up to distance {} make no sense", buckets, max_distance);
    std::vector<std::int32_t> result;
    result.reserve(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j) {
            const std::int64_t first = bidirectional && j > i ? side : 0;
            const std::int64_t distance = bidirectional ? std::abs(j - i) : std::max<std::int64_t>(i - j, 0);
            std::int64_t bucket = distance;
            if (distance >= exact) {  // in float, as the models' own code has it: an edge may fall to either side
                const float share =
                    std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                    static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
                bucket =
                    std::min(side - 1, exact + static_cast<std::int64_t>(share * static_cast<float>(side - exact)));
            }
            result.push_back(static_cast<std::int32_t>(first + bucket));
        }
    return result;
}

}  // namespace vantage
