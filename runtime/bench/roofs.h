// What a device can do at best, measured once and kept: the roofs that kernels are held against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/caps.h"
#include "vantage/device.h"

namespace vantage {

/// Inside of a working set of `bytes`, 10^9 bytes a second: copying, what is read and what is written together; and reading alone,
/// which CPU devices do much faster.
struct MemoryRoof {
    std::uint64_t bytes = 0;
    double copy_gb_per_s = 0, read_gb_per_s = 0;
    double best() const { return std::max(copy_gb_per_s, read_gb_per_s); }
};

/// Multiplying matrices of this shape and these types: 10^9 operations a second.
struct MatrixRoof {
    CooperativeMatrix shape;
    double gflops = 0;
};

/// Which unit does a kernel's arithmetic.
enum class Arithmetic : std::uint8_t { f32, f16, int8, matrix };

struct Roofs {
    std::string device, driver, driver_version, uuid;  ///< of what was measured: for another one they do not hold
    std::string date;
    std::vector<MemoryRoof> memory;          ///< by size, ascending
    double f32_gflops = 0, f16_gflops = 0;   ///< multiply and add count as two; 0 = the device has none
    double int8_gops = 0;                    ///< dot products of four bytes
    std::vector<MatrixRoof> matrices;        ///< those for which there is a kernel
    double dispatch_us = 0, barrier_us = 0;  ///< of an empty workgroup, and with a barrier behind it
    double submit_us = 0;                    ///< of an empty recording, until the host knows that it is done
    double compile_ms = 0;                   ///< of a small kernel that no cache has, until it has run once

    /// The least time for so many bytes: as much as can be is copied, the rest of what is read is only read. The speeds are those of a
    /// working set of all of them, between two sizes that were measured. 0 where none was.
    double seconds_moving(double bytes_read, double bytes_written) const;
    /// The fastest way to touch memory that no cache holds; and the best of all sizes.
    double main_memory_gb_per_s() const { return memory.empty() ? 0 : memory.back().best(); }
    double cache_gb_per_s() const;
    /// Operations a second by a unit; for matrices the best shape that multiplies such elements ("f16"; empty: any). 0 where
    /// the device has none.
    double arithmetic_gflops(Arithmetic unit, const std::string& element = {}) const;
    bool of(const Caps& caps) const;
};

Json roofs_to_json(const Roofs& roofs);
/// Throws bad_file naming `name` and the field.
Roofs roofs_from_json(const Json& json, const std::string& name);

/// The file for this device and driver, below `cache` (empty: there is no cache, and no file).
std::string roofs_path(const Caps& caps, const std::string& cache);
/// What the file says; nothing when there is none, when it is damaged or of another device or driver.
std::optional<Roofs> load_roofs(const Caps& caps, const std::string& path);

/// Told what is measured now.
using RoofProgress = std::function<void(const std::string& what)>;
/// Takes some seconds. Throws interrupted after Ctrl-C, out_of_memory, device_lost.
Roofs measure_roofs(const Device& device, const RoofProgress& progress = {});
/// Those kept, or measured now and kept; with `again` always measured.
Roofs roofs_of(const Device& device, bool again = false, const RoofProgress& progress = {});

}  // namespace vantage
