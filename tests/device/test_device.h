// The device that the tests run on: the one that VANTAGE_DEVICE names, opened once.
#pragma once

#include <cstdlib>

#include "runtime/base/options.h"
#include "vantage/device.h"

inline const vantage::Device& test_device() {
    static const vantage::Device device = vantage::Device::open();
    return device;
}

/// While it lives plans have no red zones: looking at them reads memory back, and so records and waits.
class WithoutGuard {
public:
    WithoutGuard() { ::unsetenv("VANTAGE_GUARD"); }
    ~WithoutGuard() { ::setenv("VANTAGE_GUARD", "1", 1); }
    WithoutGuard(const WithoutGuard&) = delete;
    WithoutGuard& operator=(const WithoutGuard&) = delete;
};
