// The shader selftest.comp with its buffers: the smallest work that a device can be given.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"

namespace vantage::test {

/// y[i] = 2 * i + add for i < n.
class Selftest {
public:
    struct Push {
        std::uint64_t x, y;
        std::uint32_t n;
        float add;
    };

    Selftest(gpu::DeviceState& device, std::size_t n)
        : device_(device),
          n_(n),
          input_(gpu::allocate(device, n * sizeof(float), gpu::MemoryKind::device, "selftest.x")),
          output_(gpu::allocate(device, n * sizeof(float), gpu::MemoryKind::device, "selftest.y")) {
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
        gpu::upload(device, input_, 0, std::as_bytes(std::span(values)));
    }

    VkPipeline pipeline() const { return gpu::pipeline(device_, {"selftest", {64}}); }
    Push push(float add) const { return {input_.address(), output_.address(), static_cast<std::uint32_t>(n_), add}; }
    void record(gpu::Recording& recording, float add) const {
        const Push parameters = push(add);
        const auto groups = static_cast<std::uint32_t>((n_ + 63) / 64);
        recording.dispatch(pipeline(), std::as_bytes(std::span(&parameters, 1)), {groups, 1, 1}, "selftest");
    }
    const gpu::Buffer& input() const { return input_; }
    const gpu::Buffer& output() const { return output_; }
    std::vector<float> result() const {
        std::vector<float> values(n_);
        gpu::download(device_, output_, 0, std::as_writable_bytes(std::span(values)));
        return values;
    }
    float worst_error(float add) const {
        const std::vector<float> values = result();
        float worst = 0.0f;
        for (std::size_t i = 0; i < n_; ++i)
            worst = std::max(worst, std::abs(values[i] - (2.0f * static_cast<float>(i) + add)));
        return worst;
    }

private:
    gpu::DeviceState& device_;
    std::size_t n_;
    gpu::Buffer input_, output_;
};

}  // namespace vantage::test
