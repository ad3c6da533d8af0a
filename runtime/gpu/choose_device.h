// Which device is taken: a pure function of what was found and of what was wished for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vantage/device.h"

namespace vantage {

/// Fills `usable` and `reason` of each device and marks the one that is taken without a wish, if any.
void judge_devices(std::span<DeviceListing> devices);

/// The position of the device that `wish` names ("" and "auto": the best GPU); marks it as chosen. `source` says who
/// wished, for messages: "--device" or "VANTAGE_DEVICE". Throws as Device::open does.
std::size_t choose_device(std::span<DeviceListing> devices, const std::string& wish,
                          const std::string& source = "--device");

}  // namespace vantage
