// Chooses a device from a list: a pure function of the devices found and of the device asked for.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/internal.h"
#include "vantage/device.h"

namespace vantage::internal {

/// Sets `usable` and `reason` of each device, and `chosen` of the default device, if any.
void judge_devices(std::span<DeviceListing> devices);

/// The index of the device that `wish` names, which is marked as chosen. "" and "auto" name the default device.
/// `source` is where the wish comes from, for messages: "device" or "VANTAGE_DEVICE". Throws like Device::open.
std::size_t choose_device(std::span<DeviceListing> devices, const std::string& wish,
                          const std::string& source = "device");

}  // namespace vantage::internal
