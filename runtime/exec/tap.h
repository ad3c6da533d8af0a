// The tap on attention: weights of one head recomputed from the rows that a session kept, into a buffer of fixed size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/gpu/device.h"
#include "runtime/graph/op.h"

namespace vantage {

/// What the weights of one layer are made from: q [ctx, H, D] f32, k [ctx, Hk, D], lse [ctx, H] f32; and how the layer
/// attended: its node's options, and its position_bias.
struct TapSource {
    struct Data {
        gpu::Buffer buffer;
        std::optional<TensorType> type;  ///< nothing: there is none
    };
    Data q, k, lse, position_bias;
    Attrs attrs;
};

class Tap {
public:
    explicit Tap(gpu::DeviceState& device) : device_(device) {}
    /// p_ij for a window of positions, row-major. Runs in pieces that fit the tap's buffer.
    std::vector<float> weights(const TapSource& source, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                               std::int64_t first_key, std::int64_t keys);

private:
    void piece(const TapSource& source, Attrs attrs, std::span<float> to);
    gpu::DeviceState& device_;
    gpu::Buffer result_;
};

}  // namespace vantage
