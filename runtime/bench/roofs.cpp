#include "runtime/bench/roofs.h"

#include <cmath>
#include <filesystem>

#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"

namespace vantage::internal {

namespace {

constexpr double min_rate = 1e-6;  // 10^9 bytes per second; slower than any device, a lower bound for divisors
constexpr int roofs_version = 2;   // of the file; other versions are measured again

// The fields of the file that are plain values.
constexpr std::pair<const char*, std::string Roofs::*> texts[] = {{"device", &Roofs::device},
                                                                  {"driver", &Roofs::driver},
                                                                  {"driver_version", &Roofs::driver_version},
                                                                  {"uuid", &Roofs::uuid},
                                                                  {"date", &Roofs::date}};
constexpr std::pair<const char*, double Roofs::*> numbers[] = {
    {"f32_gflops", &Roofs::f32_gflops},   {"f16_gflops", &Roofs::f16_gflops}, {"int8_gops", &Roofs::int8_gops},
    {"dispatch_us", &Roofs::dispatch_us}, {"barrier_us", &Roofs::barrier_us}, {"submit_us", &Roofs::submit_us},
    {"compile_ms", &Roofs::compile_ms}};

// Text that is safe in a file name.
std::string as_file_name(const std::string& text) {
    constexpr std::size_t longest = 60;
    std::string name;
    for (const char c : text.substr(0, longest)) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
        if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
    }
    return name;
}

/// Linear interpolation in the logarithm of the size.
MemoryRoof memory_of(const std::vector<MemoryRoof>& roofs, double bytes) {
    const auto above =
        std::ranges::find_if(roofs, [&](const MemoryRoof& m) { return static_cast<double>(m.bytes) >= bytes; });
    if (above == roofs.begin()) return roofs.front();
    if (above == roofs.end()) return roofs.back();
    const MemoryRoof &small = above[-1], &large = *above;
    const double low = std::log(static_cast<double>(small.bytes)), high = std::log(static_cast<double>(large.bytes)),
                 part = (std::log(bytes) - low) / (high - low);
    return {static_cast<std::uint64_t>(bytes), std::lerp(small.copy_gb_per_s, large.copy_gb_per_s, part),
            std::lerp(small.read_gb_per_s, large.read_gb_per_s, part)};
}

MatrixRoof matrix_from_json(const JsonFields& fields) {
    constexpr std::int64_t largest = 4096;
    const auto size = [&](const char* name) { return static_cast<std::uint32_t>(fields.integer(name, 1, largest)); };
    return {{size("m"), size("n"), size("k"), fields.text("a"), fields.text("b"), fields.text("c")},
            fields.number("gflops", 0)};
}

}  // namespace

double Roofs::seconds_moving(double bytes_read, double bytes_written) const {
    const double all = bytes_read + bytes_written;
    if (memory.empty() || all <= 0) return 0;
    const MemoryRoof roof = memory_of(memory, all);
    const double copied = bytes_read > bytes_written ? 2 * bytes_written : all;
    return 1e-9 * (copied / roof.copy_gb_per_s + (all - copied) / roof.read_gb_per_s);
}

double Roofs::cache_gb_per_s() const {
    double best = 0;
    for (const MemoryRoof& m : memory) best = std::max(best, m.best());
    return best;
}

double Roofs::arithmetic_gflops(Arithmetic unit, const std::string& element) const {
    switch (unit) {
        case Arithmetic::f16: return f16_gflops;
        case Arithmetic::int8: return int8_gops;
        case Arithmetic::matrix: {
            double best = 0;
            for (const MatrixRoof& m : matrices)
                if (element.empty() || m.shape.a == element) best = std::max(best, m.gflops);
            return best;
        }
        case Arithmetic::f32: break;
    }
    return f32_gflops;
}

bool Roofs::of(const Caps& caps) const {
    return device == caps.name && driver == caps.driver && driver_version == caps.driver_version &&
           uuid == uuid_text(caps.uuid);
}

Json roofs_to_json(const Roofs& r) {
    Json memory = Json::array(), matrices = Json::array();
    for (const MemoryRoof& m : r.memory)
        memory.push_back({{"bytes", m.bytes}, {"copy_gb_per_s", m.copy_gb_per_s}, {"read_gb_per_s", m.read_gb_per_s}});
    for (const MatrixRoof& m : r.matrices)
        matrices.push_back({{"m", m.shape.m},
                            {"n", m.shape.n},
                            {"k", m.shape.k},
                            {"a", m.shape.a},
                            {"b", m.shape.b},
                            {"c", m.shape.c},
                            {"gflops", m.gflops}});
    Json json{{"version", roofs_version}, {"memory", memory}, {"matrices", matrices}};
    for (const auto& [name, text] : texts) json[name] = r.*text;
    for (const auto& [name, number] : numbers) json[name] = r.*number;
    return json;
}

Roofs roofs_from_json(const Json& json, const std::string& name) {
    const JsonFields fields(json, name);
    fields.integer("version", roofs_version, roofs_version);
    Roofs r;
    for (const auto& [field, text] : texts) r.*text = fields.text(field);
    for (const auto& [field, number] : numbers) r.*number = fields.number(field, 0);
    for (std::size_t i = 0; i < fields.list("memory").size(); ++i) {
        const JsonFields one = fields.element("memory", i);
        const auto bytes = static_cast<std::uint64_t>(one.integer("bytes", 1));
        if (!r.memory.empty() && bytes <= r.memory.back().bytes) fields.fail("memory", "sizes that grow");
        r.memory.push_back({bytes, one.number("copy_gb_per_s", min_rate), one.number("read_gb_per_s", min_rate)});
    }
    if (r.memory.empty()) fields.fail("memory", "sizes with their bandwidth");
    for (std::size_t i = 0; i < fields.list("matrices").size(); ++i)
        r.matrices.push_back(matrix_from_json(fields.element("matrices", i)));
    return r;
}

std::string roofs_path(const Caps& caps, const std::string& cache) {
    if (cache.empty()) return "";
    return cache + "/roofs/" + uuid_text(caps.uuid) + "-" + as_file_name(caps.driver_version) + "-" +
           as_file_name(caps.name) + ".json";
}

std::optional<Roofs> load_roofs(const Caps& caps, const std::string& path) {
    constexpr std::size_t largest_file = std::size_t{1} << 20;
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
    try {
        Roofs roofs = roofs_from_json(read_json(path, largest_file), path);
        if (roofs.of(caps)) return roofs;
        log(LogLevel::info, "{} is of another device or driver: measured again", path);
    } catch (const Error& problem) {
        log(LogLevel::info, "roofs measured again: {}", problem.what());
    }
    return std::nullopt;
}

Roofs roofs_of(const Device& device, bool again, const RoofProgress& progress) {
    const std::string path = roofs_path(device.caps(), cache_directory());
    if (!again)
        if (std::optional<Roofs> kept = load_roofs(device.caps(), path)) return *kept;
    Roofs roofs = measure_roofs(device, progress);
    if (path.empty()) return roofs;
    try {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        write_file(path, roofs_to_json(roofs).dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                   Replaces::own);
    } catch (const std::exception& problem) {
        log(LogLevel::info, "roofs not kept: {}", problem.what());
    }
    return roofs;
}

}  // namespace vantage::internal
