#include "vantage/caps.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage {
namespace {

using nlohmann::json;

constexpr const char* type_names[] = {"discrete", "integrated", "virtual", "cpu", "other"};  // by number

// ---- requirements --------------------------------------------------------------------------------------------------

/// Vulkan packs variant (3 bits), major (7), minor (10) and patch (12).
constexpr std::uint32_t api_version(std::uint32_t major, std::uint32_t minor) { return major << 22 | minor << 12; }
std::string version_text(std::uint32_t version) {
    return format("{}.{}.{}", (version >> 22) & 0x7f, (version >> 12) & 0x3ff, version & 0xfff);
}

// ---- quirks --------------------------------------------------------------------------------------------------------

using Version = std::array<unsigned, 3>;

/// The first "a.b" or "a.b.c" in a driver's description, such as "Mesa 22.3.6 (LLVM 15.0.6)"; zeros when there is none.
Version version_in(const std::string& text) {
    Version version{};
    const char* const end = text.data() + text.size();
    const char* next = text.data() + std::min(text.find_first_of("0123456789"), text.size());
    for (unsigned& part : version) {
        const auto [stop, error] = std::from_chars(next, end, part);
        if (error != std::errc() || stop == end || *stop != '.') break;
        next = stop + 1;
    }
    return version;
}

/// Numbers of VkDriverId, so that this file needs no Vulkan header.
enum DriverId : std::uint32_t { intel_mesa = 6, llvmpipe = 13, moltenvk = 14 };

/// One known fault of a driver. A row is there because of a report or a measurement, which the reason names.
struct KnownFault {
    DriverId driver;
    bool (*applies)(const Caps&);
    bool Quirks::*effect;
    const char* reason;
    Version repaired = {};  ///< the first version without it; {0,0,0}: none is known
};

constexpr std::uint32_t amd = 0x1002;

const KnownFault known_faults[] = {
    {moltenvk, [](const Caps& c) { return c.subgroup_size == 64 && c.vendor_id != amd; }, &Quirks::no_subgroup,
     "MoltenVK reports subgroups of 64 where the hardware has 32: shuffles give garbage (MoltenVK issues 1553, 2750)"},
    {intel_mesa,
     [](const Caps& c) {
         const auto narrow = [](const CooperativeMatrix& m) { return m.n == 8; };
         return c.type == DeviceType::integrated && std::ranges::any_of(c.cooperative_matrices, narrow);
     },
     &Quirks::no_coopmat,
     "Mesa's ANV emulates 8-wide cooperative matrices on GPUs without matrix units (25.0: registers spill)",
     {26, 2, 0}},
    {llvmpipe, [](const Caps& c) { return c.subgroup_size != 8; }, &Quirks::no_coopmat,
     "lavapipe crashes in cooperative matrix shaders unless its vectors have 256 bits (26.2, LP_NATIVE_VECTOR_WIDTH)"},
};

bool concerns(const KnownFault& fault, const Caps& caps) {
    const bool repaired = fault.repaired != Version{} && version_in(caps.driver_version) >= fault.repaired;
    return caps.driver_id == fault.driver && !repaired && fault.applies(caps);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

/// Every field but type, uuid, api_version and matrices, which are written in words.
template <class AnyCaps, class Visitor>
void visit_fields(AnyCaps& c, Visitor visit) {
    visit("name", c.name);
    visit("driver", c.driver);
    visit("driver_version", c.driver_version);
    visit("pci", c.pci);
    visit("vendor_id", c.vendor_id);
    visit("device_id", c.device_id);
    visit("driver_id", c.driver_id);
    visit("subgroup_size", c.subgroup_size);
    visit("min_subgroup_size", c.min_subgroup_size);
    visit("max_subgroup_size", c.max_subgroup_size);
    visit("subgroup_arithmetic", c.subgroup_arithmetic);
    visit("subgroup_shuffle", c.subgroup_shuffle);
    visit("subgroup_quad", c.subgroup_quad);
    visit("subgroup_size_control", c.subgroup_size_control);
    visit("processors", c.processors);
    visit("max_workgroup_invocations", c.max_workgroup_invocations);
    visit("max_workgroup_size", c.max_workgroup_size);
    visit("max_workgroup_count", c.max_workgroup_count);
    visit("max_shared_memory", c.max_shared_memory);
    visit("max_push_constants", c.max_push_constants);
    visit("max_allocation", c.max_allocation);
    visit("max_buffer", c.max_buffer);
    visit("device_memory", c.device_memory);
    visit("unified_memory", c.unified_memory);
    visit("buffer_device_address", c.buffer_device_address);
    visit("timeline_semaphore", c.timeline_semaphore);
    visit("synchronization2", c.synchronization2);
    visit("compute_queue", c.compute_queue);
    visit("fp16", c.fp16);
    visit("storage16", c.storage16);
    visit("int8", c.int8);
    visit("storage8", c.storage8);
    visit("int16", c.int16);
    visit("int64", c.int64);
    visit("float_dot", c.float_dot);
    visit("integer_dot", c.integer_dot);
    visit("integer_dot_accelerated", c.integer_dot_accelerated);
    visit("cooperative_matrix2", c.cooperative_matrix2);
    visit("memory_budget", c.memory_budget);
    visit("timestamps", c.timestamps);
    visit("timestamp_period", c.timestamp_period);
}

[[noreturn]] void bad_field(const std::string& name, const json& found, const char* wanted) {
    throw bad_file_error("device description: '" + name + "' is " + found.dump().substr(0, 40) + ", wanted " + wanted);
}

void read(const std::string& name, const json& value, std::string& field) {
    if (!value.is_string()) bad_field(name, value, "a text");
    field = value.get<std::string>();
}
void read(const std::string& name, const json& value, bool& field) {
    if (!value.is_boolean()) bad_field(name, value, "true or false");
    field = value.get<bool>();
}
void read(const std::string& name, const json& value, float& field) {
    if (!value.is_number()) bad_field(name, value, "a number");
    field = value.get<float>();
}
template <class Integer>
    requires std::is_unsigned_v<Integer>
void read(const std::string& name, const json& value, Integer& field) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<Integer>::max())
        bad_field(name, value, sizeof(Integer) == 4 ? "a number from 0 to 4294967295" : "a number from 0");
    field = static_cast<Integer>(value.get<std::uint64_t>());
}
void read(const std::string& name, const json& value, std::array<std::uint32_t, 3>& field) {
    if (!value.is_array() || value.size() != 3) bad_field(name, value, "three numbers");
    for (std::size_t i = 0; i < 3; ++i) read(name, value[i], field[i]);
}

void read_uuid(const json& value, std::array<std::uint8_t, 16>& uuid) {
    std::string text;
    read("uuid", value, text);
    std::erase(text, '-');
    bool hex = text.size() == 32;
    for (std::size_t i = 0; hex && i < 16; ++i) {
        const char* const digits = text.data() + 2 * i;
        hex = std::from_chars(digits, digits + 2, uuid[i], 16).ptr == digits + 2;
    }
    if (!hex) bad_field("uuid", value, "32 hexadecimal digits");
}

void read_api_version(const json& value, std::uint32_t& version) {
    std::string text;
    read("api_version", value, text);
    const Version parts = version_in(text);
    if (parts[0] == 0 || parts[0] > 127 || parts[1] > 1023 || parts[2] > 4095)
        bad_field("api_version", value, "a version such as \"1.3.0\"");
    version = api_version(parts[0], parts[1]) | parts[2];
}

void read_type(const json& value, DeviceType& type) {
    std::string text;
    read("type", value, text);
    const auto* const found = std::ranges::find(type_names, text);
    if (found == std::end(type_names)) bad_field("type", value, "discrete, integrated, virtual, cpu or other");
    type = static_cast<DeviceType>(found - type_names);
}

void read_matrices(const json& value, std::vector<CooperativeMatrix>& matrices) {
    if (!value.is_array()) bad_field("cooperative_matrices", value, "a list");
    for (const json& item : value) {
        CooperativeMatrix matrix;
        if (!item.is_object()) bad_field("cooperative_matrices", item, "an object with m, n, k, a, b, c");
        const auto visit = [&](const char* name, auto& field) {
            if (item.contains(name)) read(std::string("cooperative_matrices.") + name, item[name], field);
        };
        visit("m", matrix.m), visit("n", matrix.n), visit("k", matrix.k);
        visit("a", matrix.a), visit("b", matrix.b), visit("c", matrix.c);
        matrices.push_back(std::move(matrix));
    }
}

}  // namespace

const char* name_of(DeviceType type) {
    const char* const name = name_in(type_names, type);
    return *name == '\0' ? "other" : name;
}

std::vector<std::string> missing_requirements(const Caps& caps) {
    std::vector<std::string> missing;
    if (caps.api_version < api_version(1, 3)) {
        // An older driver was not asked for the rest: naming that as missing, too, would mislead.
        missing.push_back("Vulkan 1.3 (it has " + version_text(caps.api_version) + "; a newer driver may help)");
        return missing;
    }
    const auto require = [&](bool there, const std::string& what) {
        if (!there) missing.push_back(what);
    };
    require(caps.compute_queue, "a queue that computes");
    require(caps.buffer_device_address, "buffer addresses (bufferDeviceAddress)");
    require(caps.timeline_semaphore, "timeline semaphores (timelineSemaphore)");
    require(caps.synchronization2, "synchronization2");
    require(caps.max_push_constants >= 128, format("128 bytes of push constants (it has {})", caps.max_push_constants));
    require(caps.max_workgroup_invocations >= 128,
            format("workgroups of 128 invocations (it has {})", caps.max_workgroup_invocations));
    require(caps.max_shared_memory >= 16384,
            format("16 KiB of shared memory (it has {} bytes)", caps.max_shared_memory));
    return missing;
}

bool Caps::loads_uniform_once() const {
    return is_cpu() && driver_id == llvmpipe && api_version >= vantage::api_version(1, 4);
}

bool Caps::ends_long_loops() const { return driver_id == llvmpipe && api_version < vantage::api_version(1, 4); }

Quirks quirks_of(const Caps& caps, bool disable_subgroup, bool disable_fp16, bool disable_coopmat) {
    Quirks quirks;
    for (const KnownFault& fault : known_faults) {
        if (!concerns(fault, caps)) continue;
        quirks.*fault.effect = true;
        quirks.reasons.emplace_back(fault.reason);
    }
    const auto disable = [&](bool wanted, bool Quirks::*effect, const char* reason) {
        if (!wanted) return;
        quirks.*effect = true;
        quirks.reasons.emplace_back(reason);
    };
    disable(disable_subgroup, &Quirks::no_subgroup, "VANTAGE_DISABLE_SUBGROUP is set");
    disable(disable_fp16, &Quirks::no_fp16, "VANTAGE_DISABLE_FP16 is set");
    disable(disable_coopmat, &Quirks::no_coopmat, "VANTAGE_DISABLE_COOPMAT is set");
    return quirks;
}

Caps caps_with_quirks(Caps caps, const Quirks& quirks) {
    if (quirks.no_subgroup)
        caps.subgroup_arithmetic = caps.subgroup_shuffle = caps.subgroup_quad = caps.subgroup_size_control = false;
    if (quirks.no_fp16) {
        caps.fp16 = caps.float_dot = false;
        const auto half = [](const CooperativeMatrix& m) { return m.a == "f16" || m.b == "f16" || m.c == "f16"; };
        std::erase_if(caps.cooperative_matrices, half);
    }
    // Matrices are shared out over a subgroup: without trust in subgroups there is none in them.
    if (quirks.no_coopmat || quirks.no_subgroup) caps.cooperative_matrices.clear();
    caps.cooperative_matrix2 = caps.cooperative_matrix2 && !caps.cooperative_matrices.empty();
    return caps;
}

std::string uuid_text(const std::array<std::uint8_t, 16>& uuid) {
    std::string text;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += format("{:02x}", static_cast<unsigned>(uuid[i]));
    }
    return text;
}

std::string caps_to_json(const Caps& caps) {
    json object;
    visit_fields(caps, [&](const char* name, const auto& field) { object[name] = field; });
    object["uuid"] = uuid_text(caps.uuid);
    object["type"] = name_of(caps.type);
    object["api_version"] = version_text(caps.api_version);
    object["cooperative_matrices"] = json::array();
    for (const CooperativeMatrix& m : caps.cooperative_matrices)
        object["cooperative_matrices"].push_back(
            {{"m", m.m}, {"n", m.n}, {"k", m.k}, {"a", m.a}, {"b", m.b}, {"c", m.c}});
    // A driver's name need not be UTF-8: replace, do not throw.
    return object.dump(2, ' ', false, json::error_handler_t::replace);
}

Caps caps_from_json(const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) throw bad_file_error("device description: not a JSON object");
    Caps caps;
    visit_fields(caps, [&](const char* name, auto& field) {
        if (object.contains(name)) read(name, object[name], field);
    });
    if (object.contains("uuid")) read_uuid(object["uuid"], caps.uuid);
    if (object.contains("type")) read_type(object["type"], caps.type);
    if (object.contains("api_version")) read_api_version(object["api_version"], caps.api_version);
    if (object.contains("cooperative_matrices"))
        read_matrices(object["cooperative_matrices"], caps.cooperative_matrices);
    return caps;
}

}  // namespace vantage
