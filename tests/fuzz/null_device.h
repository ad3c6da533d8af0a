// The device of targets that run a model: tests/null_device with 64 MiB of memory. It needs the Vulkan loader, but no
// other driver.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

#include "vantage/device.h"
#include "vantage/log.h"

inline constexpr std::size_t null_device_memory = std::size_t{64} << 20;  ///< taken from the heap, when it is used

inline const vantage::Device& null_device() {
    static const vantage::Device device = [] {
        for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) ::setenv(name, VANTAGE_NULL_DEVICE, 1);
        ::setenv("NULL_DEVICE_MEMORY", std::to_string(null_device_memory).c_str(), 1);
        for (const char* name : {"HOME", "XDG_CACHE_HOME", "VANTAGE_CACHE_DIR", "VANTAGE_DEVICE", "VANTAGE_GUARD"})
            ::setenv(name, "", 1);  // no cache of pipelines
        vantage::set_log([](vantage::LogLevel, const std::string&) {});
        return vantage::Device::open();
    }();
    return device;
}
