// What a device can do, as plain data: choices of kernels are pure functions of it and are tested with made-up devices.
//
// Threads: plain data and pure functions: any thread.
// Errors: caps_from_json throws bad_file; nothing else throws.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vantage {

enum class DeviceType : std::uint8_t { discrete, integrated, virtual_gpu, cpu, other };
const char* name_of(DeviceType type);

/// One shape that the device's matrix units multiply: C[m,n] += A[m,k] B[k,n].
struct CooperativeMatrix {
    std::uint32_t m = 0, n = 0, k = 0;
    std::string a, b, c;  ///< element types as words: f16, bf16, e4m3, e5m2, f32, s8, u8, s32, u32
};

/// Facts about a device. Sizes in bytes unless said. Read from a driver, or from a JSON file (`read_caps`).
struct Caps {
    std::string name, driver, driver_version;  ///< "AMD Radeon RX 7900 XTX (RADV NAVI31)", "radv", "Mesa 25.0.7"
    std::string pci;  ///< PCI address, "0000:03:00.0" (VK_EXT_pci_bus_info); empty where there is none
    std::array<std::uint8_t, 16> uuid{};  ///< the same for one GPU under two drivers
    std::uint32_t vendor_id = 0, device_id = 0, driver_id = 0, api_version = 0;
    DeviceType type = DeviceType::other;

    std::uint32_t subgroup_size = 1, min_subgroup_size = 1, max_subgroup_size = 1;
    bool subgroup_arithmetic = false, subgroup_shuffle = false, subgroup_quad = false, subgroup_size_control = false;
    /// Multiprocessors, compute units or cores, among which workgroups are shared; 0 where the driver does not say (by
    /// VK_NV_shader_sm_builtins, VK_AMD_shader_core_properties2, VK_ARM_shader_core_builtins), nor a table of Intel's.
    std::uint32_t processors = 0;
    std::uint32_t max_workgroup_invocations = 128;
    std::array<std::uint32_t, 3> max_workgroup_size{128, 128, 64};
    std::array<std::uint32_t, 3> max_workgroup_count{65535, 65535, 65535};
    std::uint32_t max_shared_memory = 16384;
    std::uint32_t max_push_constants = 128;
    std::uint64_t max_allocation = 1ull << 30;  ///< largest single allocation
    std::uint64_t max_buffer = 1ull << 30;      ///< largest buffer
    std::uint64_t device_memory = 0;            ///< size of the device-local heaps
    bool unified_memory = false;                ///< the host maps all of the device's memory

    bool buffer_device_address = false, timeline_semaphore = false, synchronization2 = false;  ///< required
    bool compute_queue = true;                                                                 ///< required
    bool fp16 = false, storage16 = false, int8 = false, storage8 = false, int16 = false, int64 = false;
    bool float_dot = false;  ///< two products of halves are added to a float by one instruction
    bool integer_dot = false,
         integer_dot_accelerated = false;  ///< dot products of four signed bytes; as one instruction
    bool memory_budget = false, timestamps = false;
    float timestamp_period = 1.0f;  ///< nanoseconds per tick
    std::vector<CooperativeMatrix> cooperative_matrices;
    bool cooperative_matrix2 = false;  ///< rows of them are reduced, elements computed with, sums converted to operands

    bool is_cpu() const { return type == DeviceType::cpu; }
    /// A CPU device on which a load from one address for all lanes is one load, and not one for each lane: Mesa's
    /// lavapipe (by its driver id) from Mesa 25 on, the first with Vulkan 1.4. Measured; SwiftShader loads for each
    /// lane whatever its version.
    bool loads_uniform_once() const;
    /// A device on which an invocation leaves its loops, silently, after 65535 iterations of all of them together:
    /// lavapipe before Vulkan 1.4. Measured: Mesa 22.3.6 does so, 25.0 and 26.2 do not.
    bool ends_long_loops() const;
};

/// "6d657361-3232-2e33-2e36-000000000000"
std::string uuid_text(const std::array<std::uint8_t, 16>& uuid);

/// Why a device cannot run Vantage; empty when it can.
std::vector<std::string> missing_requirements(const Caps& caps);

/// Named exceptions to what a driver says of itself, each with its reason; `caps_with_quirks` applies them.
struct Quirks {
    bool no_subgroup = false;  ///< subgroup operations are missing or give wrong results
    bool no_fp16 = false;      ///< 16-bit arithmetic gives wrong results
    bool no_coopmat = false;   ///< cooperative matrices are wrong, emulated or crash
    std::vector<std::string> reasons;
};
/// A pure function of the facts and of the user's VANTAGE_DISABLE_* switches.
Quirks quirks_of(const Caps& caps, bool disable_subgroup, bool disable_fp16, bool disable_coopmat);
Caps caps_with_quirks(Caps caps, const Quirks& quirks);

/// JSON in both directions; `caps_from_json` throws bad_file with the field's name.
std::string caps_to_json(const Caps& caps);
Caps caps_from_json(const std::string& text);

}  // namespace vantage
