#include "runtime/session/random_weights.h"

#include <algorithm>
#include <random>

#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t block_elements = 2048 * 491;  // a prime number of whole groups of q6_k, the largest
constexpr double deviation = 0.02;                   // as GPT-2, BERT and Llama are initialised

bool is_gain(const Value& value) { return value.type.shape.rank() == 1 && value.name.ends_with("weight"); }

}  // namespace

const gpu::Buffer& RandomWeights::block(DType type) {
    gpu::Buffer& made = blocks_[type];
    if (made) return made;
    HostTensor numbers({{block_elements}, type});
    std::mt19937_64 random(seed_);
    std::normal_distribution<double> normal(0, deviation);
    std::ranges::generate(numbers.data, [&] { return normal(random); });
    const std::vector<std::byte> bytes = narrow(numbers);
    made = gpu::allocate(device_, bytes.size(), gpu::MemoryKind::device, "random weights");
    gpu::upload(device_, made, 0, bytes);
    return made;
}

void RandomWeights::fill(const gpu::Buffer& to, const Value& value) {
    if (is_gain(value)) {
        HostTensor ones(value.type);
        std::ranges::fill(ones.data, 1.0);
        return gpu::upload(device_, to, 0, narrow(ones));
    }
    const gpu::Buffer& from = block(value.type.dtype);
    const std::uint64_t each = TensorType{{block_elements}, value.type.dtype}.bytes(), all = value.type.bytes();
    gpu::Recording recording(device_, "random " + value.name);
    for (std::uint64_t at = 0; at < all; at += each) recording.copy(from, 0, to, at, std::min(each, all - at));
    recording.end();
    gpu::wait(device_, gpu::submit(device_, recording));
}

}  // namespace vantage::internal
