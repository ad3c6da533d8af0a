// The tap on attention: weights of one head recomputed from the rows that a session kept, into a buffer of fixed size;
// and what all heads do, in numbers, made of those weights on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/graph/op_def.h"
#include "vantage/session.h"

namespace vantage::internal {

/// What the weights of one layer are made from: q [ctx, H, D] f32, k [ctx, Hk, D], lse [ctx, H] f32; and how the layer
/// attended: its node's options, its position_bias and block_mask. With the values v [ctx, Hk, Dv], which weights do
/// not need.
struct TapSource {
    struct Data {
        gpu::Buffer buffer;
        std::optional<TensorType> type;  ///< nothing: there is none
    };
    Data q, k, v, lse, position_bias, block_mask;
    Attrs attrs;
    bool sinks = false;  ///< learned ones take a part of each row: its weights sum to less than 1
};

class Tap {
public:
    explicit Tap(gpu::DeviceState& device) : device_(device) {}
    /// p_ij for a window of positions, row-major. Runs in pieces that fit the tap's buffer.
    std::vector<float> weights(const TapSource& source, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                               std::int64_t first_key, std::int64_t keys);
    /// The numbers of a window of rows, with the first `count` keys. tokens [ctx, 2] are ids and marks, those of
    /// queries apart behind them; factors [ctx, H], or nothing.
    HeadTable statistics(const TapSource& source, std::int64_t first_row, std::int64_t rows, std::int64_t count,
                         std::span<const std::int32_t> tokens, std::span<const float> factors);

private:
    /// Runs the op's kernel and downloads its results.
    void run(const OpDef& op, Attrs attrs, std::span<const TapSource::Data> operands,
             std::span<const std::span<float>> outputs);
    gpu::DeviceState& device_;
    gpu::Buffer result_;
};

}  // namespace vantage::internal
