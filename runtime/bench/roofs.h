// Roofs: the measured limits of a device (memory, arithmetic, launches), saved in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/bench/measure_roofs.h"
#include "vantage/caps.h"
#include "vantage/device.h"

namespace vantage::internal {

/// Bandwidth in a working set of `bytes`, in 10^9 bytes per second: of copying (bytes read + written) and of reading
/// only, which is much faster on CPU devices.
struct MemoryRoof {
    std::uint64_t bytes = 0;
    double copy_gb_per_s = 0, read_gb_per_s = 0;
    double best() const { return std::max(copy_gb_per_s, read_gb_per_s); }
};

/// Rate of a cooperative-matrix shape, in 10^9 operations per second.
struct MatrixRoof {
    CooperativeMatrix shape;
    double gflops = 0;
};

/// The unit that does the arithmetic of a kernel.
enum class Arithmetic : std::uint8_t { f32, f16, int8, matrix };

struct Roofs {
    std::string device, driver, driver_version, uuid;  ///< the measured device; not valid for others
    std::string date;
    std::vector<MemoryRoof> memory;          ///< by size, ascending
    double f32_gflops = 0, f16_gflops = 0;   ///< a multiply-add counts as two; 0: not supported
    double int8_gops = 0;                    ///< dot products of four bytes
    std::vector<MatrixRoof> matrices;        ///< shapes that kernels use
    double dispatch_us = 0, barrier_us = 0;  ///< launch of an empty workgroup, without and with a barrier
    double submit_us = 0;                    ///< empty recording, until the host sees the fence
    double compile_ms = 0;                   ///< small kernel that is in no cache, until its first run ends

    /// Minimum time to move these bytes, in seconds: as many as possible are copied, the rest is only read. Rates are
    /// interpolated for a working set of this size. 0 if no rate was measured.
    double seconds_moving(double bytes_read, double bytes_written) const;
    /// The best rate in the largest working set (main memory), and over all sizes (caches).
    double main_memory_gb_per_s() const { return memory.empty() ? 0 : memory.back().best(); }
    double cache_gb_per_s() const;
    /// Rate of a unit in 10^9 operations per second; for matrices that of the best shape with this element type ("f16";
    /// empty: any). 0 if the device does not support it.
    double arithmetic_gflops(Arithmetic unit, const std::string& element = {}) const;
    bool of(const Caps& caps) const;
};

Json roofs_to_json(const Roofs& roofs);
/// Throws bad_file with `name` and the field.
Roofs roofs_from_json(const Json& json, const std::string& name);

/// Path of the file for this device and driver in the folder `cache`. Empty if `cache` is empty.
std::string roofs_path(const Caps& caps, const std::string& cache);
/// Reads the file. Nothing if it is missing, damaged, or of another device or driver.
std::optional<Roofs> load_roofs(const Caps& caps, const std::string& path);

/// The saved roofs; otherwise (or with `again`) measures and saves them.
Roofs roofs_of(const Device& device, bool again = false, const RoofProgress& progress = {});

}  // namespace vantage::internal
