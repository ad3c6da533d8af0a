// A Vulkan device, opened by name. No Vulkan header is needed to use it; see vulkan.h to bring one's own.
//
// Threads: any, for all functions. `open` and `list` block while drivers are loaded, up to seconds.
// Errors: as said below. After device_lost every call that needs the device throws device_lost; destructors do not
// throw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vantage/caps.h"
#include "vantage/error.h"

namespace vantage {

namespace gpu {
class DeviceState;
}

/// What `Device::list` found: every device of every driver, and why it is or is not taken.
struct DeviceListing {
    Caps caps;
    int index = 0;                       ///< "vulkan:INDEX"; not stable over driver changes: prefer the UUID
    std::uint64_t memory_available = 0;  ///< bytes of device memory that are left, before it is opened
    bool usable = false;                 ///< meets the requirements
    bool chosen = false;                 ///< `Device::open(wish)` would take it
    std::string reason;                  ///< why chosen, why not, or what is missing
};

/// A handle: copying it is cheap, the device lives until the last copy is gone, and all that was made with it. When the
/// device is lost (device_lost) it stays lost: open it again (Session::recover).
///
/// Threads: any. A moved-from handle is a copy: it stays valid.
class Device {
public:
    Device(const Device&) = default;
    Device& operator=(const Device&) = default;
    /// Opens the best GPU, or the one that `wish` names: "vulkan:1" (or "1"), "uuid:…", "name:…" (part of a name, any
    /// case), "cpu", "auto" (the best); an empty wish is what VANTAGE_DEVICE says, else "auto". A wish that names
    /// nothing throws `usage` with the list; nothing usable throws `no_device` with the reason for each rejected
    /// device; CPU devices are taken only when asked for or alone.
    static Device open(const std::string& wish = "");
    /// Every device of every driver, judged as `open(wish)` would. Throws `no_device` only when there is no Vulkan
    /// loader at all, and `usage` when an explicit `wish` names nothing.
    static std::vector<DeviceListing> list(const std::string& wish = "");

    const Caps& caps() const;
    /// Bytes of device memory still to be had, by VK_EXT_memory_budget where there is one, else by the heap's size.
    std::uint64_t memory_available() const;
    /// Number of error messages of the validation layer so far (VANTAGE_VALIDATE=1).
    static int validation_errors();

    /// For the runtime itself.
    explicit Device(std::shared_ptr<gpu::DeviceState> state) : state_(std::move(state)) {}
    gpu::DeviceState& state() const { return *state_; }
    const std::shared_ptr<gpu::DeviceState>& shared_state() const { return state_; }

private:
    std::shared_ptr<gpu::DeviceState> state_;
};

}  // namespace vantage
