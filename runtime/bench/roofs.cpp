#include "runtime/bench/roofs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/base/choose.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"

namespace vantage {

namespace {

constexpr int roofs_version = 1;  // of the file; another one is measured anew

// As a part of a file's name.
std::string as_file_name(const std::string& text) {
    constexpr std::size_t longest = 60;
    std::string name;
    for (const char c : text.substr(0, longest)) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
        if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
    }
    return name;
}

MatrixRoof matrix_from_json(const JsonFields& fields) {
    constexpr std::int64_t largest = 4096;
    const auto size = [&](const char* name) { return static_cast<std::uint32_t>(fields.integer(name, 1, largest)); };
    return {{size("m"), size("n"), size("k"), fields.text("a"), fields.text("b"), fields.text("c")},
            fields.number("gflops", 0)};
}

}  // namespace

double Roofs::bandwidth_gb_per_s(double bytes) const {
    if (copy.empty()) return 0;
    const auto above =
        std::ranges::find_if(copy, [&](const CopyRoof& c) { return static_cast<double>(c.bytes) >= bytes; });
    if (above == copy.begin()) return copy.front().gb_per_s;
    if (above == copy.end()) return copy.back().gb_per_s;
    const CopyRoof &small = above[-1], &large = *above;  // straight in the logarithm of the size
    const double low = std::log(static_cast<double>(small.bytes)), high = std::log(static_cast<double>(large.bytes));
    return small.gb_per_s + (std::log(bytes) - low) / (high - low) * (large.gb_per_s - small.gb_per_s);
}

CopyRoof Roofs::cache() const {
    const auto best = std::ranges::max_element(copy, {}, &CopyRoof::gb_per_s);
    return best == copy.end() ? CopyRoof{} : *best;
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
    Json copies = Json::array(), matrices = Json::array();
    for (const CopyRoof& c : r.copy) copies.push_back({{"bytes", c.bytes}, {"gb_per_s", c.gb_per_s}});
    for (const MatrixRoof& m : r.matrices)
        matrices.push_back({{"m", m.shape.m},
                            {"n", m.shape.n},
                            {"k", m.shape.k},
                            {"a", m.shape.a},
                            {"b", m.shape.b},
                            {"c", m.shape.c},
                            {"gflops", m.gflops}});
    return {{"version", roofs_version},
            {"device", r.device},
            {"driver", r.driver},
            {"driver_version", r.driver_version},
            {"uuid", r.uuid},
            {"date", r.date},
            {"copy", copies},
            {"f32_gflops", r.f32_gflops},
            {"f16_gflops", r.f16_gflops},
            {"int8_gops", r.int8_gops},
            {"matrices", matrices},
            {"dispatch_us", r.dispatch_us},
            {"barrier_us", r.barrier_us},
            {"submit_us", r.submit_us},
            {"compile_ms", r.compile_ms}};
}

Roofs roofs_from_json(const Json& json, const std::string& name) {
    const JsonFields fields(json, name);
    fields.integer("version", roofs_version, roofs_version);
    Roofs r{.device = fields.text("device"),
            .driver = fields.text("driver"),
            .driver_version = fields.text("driver_version"),
            .uuid = fields.text("uuid"),
            .date = fields.text("date"),
            .copy = {},
            .f32_gflops = fields.number("f32_gflops", 0),
            .f16_gflops = fields.number("f16_gflops", 0),
            .int8_gops = fields.number("int8_gops", 0),
            .matrices = {},
            .dispatch_us = fields.number("dispatch_us", 0),
            .barrier_us = fields.number("barrier_us", 0),
            .submit_us = fields.number("submit_us", 0),
            .compile_ms = fields.number("compile_ms", 0)};
    for (std::size_t i = 0; i < fields.list("copy").size(); ++i) {
        const JsonFields one = fields.element("copy", i);
        const auto bytes = static_cast<std::uint64_t>(one.integer("bytes", 1));
        if (!r.copy.empty() && bytes <= r.copy.back().bytes) fields.fail("copy", "sizes that grow");
        r.copy.push_back({bytes, one.number("gb_per_s", 0)});
    }
    if (r.copy.empty()) fields.fail("copy", "sizes with their bandwidth");
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
        log(LogLevel::info, "%s is of another device or driver: measured anew", path.c_str());
    } catch (const Error& problem) {
        log(LogLevel::info, "roofs measured anew: %s", problem.what());
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
        write_file(path, roofs_to_json(roofs).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    } catch (const std::exception& problem) {
        log(LogLevel::info, "roofs not kept: %s", problem.what());
    }
    return roofs;
}

}  // namespace vantage
