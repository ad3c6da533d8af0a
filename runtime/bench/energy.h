// The energy that a device uses, as far as the system reports it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// Sums the energy of a device from the construction on. The sensors are those of Linux below `system`:
///   a GPU (Caps::pci)   bus/pci/devices/ADDRESS/hwmon: a counter (energy1_input in µJ: Intel), else the power
///                       (power1_average or power1_input in µW: AMD), integrated over time
///   a CPU device        class/powercap/intel-rapl:N of every package: counters in µJ that wrap around, of Intel's and
///                       AMD's processors; usually readable by root only
/// A GPU's sensors count all that the board does, and a processor's all that its cores do, for other processes, too.
/// A thread reads them every 50 ms. Threads: any.
class EnergyMeter : NotCopied {
public:
    explicit EnergyMeter(const Caps& caps, const std::string& system = "/sys");
    ~EnergyMeter();
    /// The files that are read; empty if the system reports no energy of this device.
    const std::string& source() const { return source_; }
    /// Joules since the construction. NaN after a sensor could not be read, and if there is none.
    double joules();

private:
    struct Sensor {
        std::string path;
        bool is_power = false;  ///< µW, not µJ
        double range = 0;       ///< µJ after which the counter begins again; 0: never
        double last = 0;        ///< the number that was read last
    };
    void add_sensor(Sensor sensor);
    void sample();
    std::string source_;
    std::vector<Sensor> sensors_;
    double joules_ = 0, last_seconds_ = 0;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // last, so that it ends first
};

}  // namespace vantage::internal
