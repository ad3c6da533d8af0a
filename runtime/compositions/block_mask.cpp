// BigBird's mask of blocks: global blocks, a window of blocks, and random ones from a seed.
// Zaheer et al., "Big Bird: Transformers for Longer Sequences" (2020), the variant whose global tokens are of the
// sequence (ITC).
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/ops/sampling.h"
#include "vantage/ops.h"

namespace vantage {

std::vector<std::int32_t> bigbird_block_mask(std::int64_t blocks, const BigBirdOptions& options) {
    constexpr std::int64_t max_blocks = 1 << 15;
    if (blocks < 0 || blocks > max_blocks || options.global < 0 || options.random < 0 || options.window < 0 ||
        (options.window > 0 && options.window % 2 == 0))
        throw usage_error(
            "bigbird_block_mask: {} blocks, {} global, a window of {}, {} random ones: at most {}, "
            "none below 0 and an odd window are wanted",
            blocks, options.global, options.window, options.random, max_blocks);
    std::vector<std::int32_t> mask(static_cast<std::size_t>(blocks * blocks));
    for (std::int64_t i = 0; i < blocks; ++i) {
        std::vector<std::int64_t> others;
        for (std::int64_t j = 0; j < (options.causal ? i + 1 : blocks); ++j) {
            const bool seen = i < options.global || j < options.global || 2 * std::abs(i - j) < options.window;
            at(mask, i * blocks + j) = seen;
            if (!seen) others.push_back(j);
        }
        // the first of a shuffle (Fisher and Yates), each number by row and place, whatever the other rows draw
        for (std::int64_t drawn = 0; drawn < std::min(options.random, std::ssize(others)); ++drawn) {
            const auto word =
                philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(drawn), 0, 0},
                       {static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32)})[0];
            const auto left = static_cast<std::uint64_t>(std::ssize(others) - drawn);
            std::swap(at(others, drawn), at(others, static_cast<std::uint64_t>(drawn) + (word * left >> 32)));
            at(mask, i * blocks + at(others, drawn)) = 1;
        }
    }
    return mask;
}

}  // namespace vantage
