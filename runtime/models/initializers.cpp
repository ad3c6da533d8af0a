#include "runtime/models/initializers.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/checksum.h"
#include "runtime/base/portable_math.h"
#include "runtime/ops/sampling.h"

namespace vantage::internal {

namespace {

void fill(std::span<float> values, const std::function<TensorRandom::Block(std::uint64_t)>& block_of, double factor) {
    for (std::size_t begin = 0; begin < values.size(); begin += 4) {
        const TensorRandom::Block block = block_of(begin / 4);
        const std::span<float> some = values.subspan(begin, std::min<std::size_t>(4, values.size() - begin));
        for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<float>(factor * block[i]);
    }
}

}  // namespace

TensorRandom::TensorRandom(std::uint64_t seed, std::string_view tensor) : seed_(seed), tensor_(checksum(tensor)) {}

// Philox4x32-10 with the seed as the key, and the block and the tensor as the counter. A word w becomes the middle of
// its interval, (w + 1/2) / 2^32, which a double holds exactly.
TensorRandom::Block TensorRandom::uniform(std::uint64_t block) const {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto words =
        philox({low(block), low(block >> 32), low(tensor_), low(tensor_ >> 32)}, {low(seed_), low(seed_ >> 32)});
    Block numbers{};
    std::ranges::transform(words, numbers.begin(),
                           [](std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; });
    return numbers;
}

// Box & Muller, "A Note on the Generation of Random Normal Deviates" (1958): of two uniform numbers u and v
//   √(-2 ln u) cos 2πv  and  √(-2 ln u) sin 2πv.
// The largest is √(2 · 33 ln 2) = 6.8, above which one of 7 · 10^10 normal numbers lies.
TensorRandom::Block TensorRandom::normal(std::uint64_t block) const {
    Block numbers = uniform(block);
    for (const std::size_t i : {0u, 2u}) {
        const double radius = std::sqrt(-2 * portable_log(numbers[i]));
        const CirclePoint point = portable_circle(numbers[i + 1]);
        numbers[i] = radius * point.cosine, numbers[i + 1] = radius * point.sine;
    }
    return numbers;
}

Initializer constant_initializer(double value) {
    return
        [value](const TensorRandom&, std::span<float> values) { std::ranges::fill(values, static_cast<float>(value)); };
}

Initializer normal_initializer(double deviation) {
    return [deviation](const TensorRandom& random, std::span<float> values) {
        fill(
            values, [&](std::uint64_t block) { return random.normal(block); }, deviation);
    };
}

Initializer uniform_initializer(std::function<double(double)> f) {
    return [f = std::move(f)](const TensorRandom& random, std::span<float> values) {
        const auto block_of = [&](std::uint64_t block) {
            TensorRandom::Block numbers = random.uniform(block);
            std::ranges::transform(numbers, numbers.begin(), f);
            return numbers;
        };
        fill(values, block_of, 1);
    };
}

Initializer uniform_initializer(double bound) {
    return uniform_initializer([bound](double u) { return bound * (2 * u - 1); });
}

Initializer torch_initializer(std::int64_t inputs) {
    return uniform_initializer(1 / std::sqrt(static_cast<double>(inputs)));
}

bool NamedTensor::ends_with(std::initializer_list<std::string_view> endings) const {
    return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

Initializer default_initializer(const ModelConfig& config, const NamedTensor& tensor) {
    if (tensor.name.ends_with("bias")) return constant_initializer(0);
    if (tensor.shape.rank() == 1) return constant_initializer(1);  // of a norm
    return normal_initializer(config.initializer_range);
}

}  // namespace vantage::internal
