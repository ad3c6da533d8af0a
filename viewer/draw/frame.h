// Pictures in flight: at most two, each with its commands and the memory that its shaders read.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/base/internal.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/recording.h"
#include "vantage/device.h"

namespace vantage::view {

/// The commands of one picture, from `FrameRing::begin` to `submit`.
class Frame {
public:
    VkCommandBuffer commands() const { return commands_.buffer; }
    /// Copies bytes to where this picture's shaders read them; the address is a multiple of 16.
    std::uint64_t put(std::span<const std::byte> bytes);
    template <class T>
    std::uint64_t put(const std::vector<T>& values) {
        return put(std::as_bytes(std::span(values)));
    }

private:
    friend class FrameRing;
    gpu::DeviceState* device_ = nullptr;
    gpu::Commands commands_;           ///< the pool is null while all commands came from the caller
    std::vector<gpu::Buffer> pieces_;  ///< the last one is being filled; a single one from the second picture on
    std::uint64_t used_ = 0;           ///< bytes of the last piece
    std::uint64_t value_ = 0;          ///< of the device's timeline when the picture is done
};

/// A buffer that several pictures read. It is written once, so that no write waits for pictures in flight.
gpu::Buffer written_once(const Device& device, std::span<const std::byte> bytes, const char* name);

class FrameRing : NotCopied {
public:
    explicit FrameRing(const Device& device);
    ~FrameRing();

    /// Whether the picture before the last is done: then `begin` waits for nothing.
    bool ready() const;
    /// Begins a new picture, once the one before the last is done.
    Frame& begin();
    /// The same with a command buffer of the caller, who submits it after `end` and before the next picture begins.
    Frame& begin(VkCommandBuffer commands);
    void end(Frame& frame);
    /// Returns the value that the device's timeline reaches when the picture is done.
    std::uint64_t submit(Frame& frame, std::span<const VkSemaphoreSubmitInfo> waits = {},
                         std::span<const VkSemaphoreSubmitInfo> signals = {});
    /// What the device took for the last finished picture, in seconds; 0 where it has no clock.
    double device_seconds() const { return device_seconds_; }

private:
    Frame& next();
    void note_foreign();
    void read_times(Frame& frame);
    Device device_;
    std::array<Frame, 2> frames_;
    Frame* foreign_ = nullptr;  ///< with somebody else's commands, submitted by now
    std::size_t next_ = 0;
    double device_seconds_ = 0;
};

}  // namespace vantage::view
