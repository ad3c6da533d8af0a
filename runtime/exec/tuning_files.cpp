#include "runtime/exec/tuning_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <regex>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/program.h"
#include "runtime/gpu/choose_device.h"
#include "runtime/graph/kernel_names.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t format_version = 1;
constexpr std::size_t largest_file = std::size_t{8} << 20, max_calls = 20000;

// '*' in `pattern` stands for any text. What the last '*' takes grows until the rest fits.
bool matches(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, after_star = std::string_view::npos, taken = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            after_star = ++p;
            taken = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p, ++t;
        } else if (after_star != std::string_view::npos) {
            p = after_star;
            t = ++taken;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

TunedCall call_from_json(const std::string& key, const JsonFields& fields) {
    const std::string op = key.substr(0, key.find('('));
    TunedCall call{.kernel = current_kernel_name(op, fields.text("kernel")), .seconds = {}};
    const JsonFields times = fields.object("microseconds");
    for (const auto& [kernel, time] : times.json().items()) {
        std::optional<double>& seconds = call.seconds[current_kernel_name(op, kernel)];
        if (!time.is_null()) seconds = 1e-6 * times.number(kernel, 0);
    }
    return call;
}

// The table of a file that is for this device; nothing, and a warning, where the file cannot be used.
TuningTable read_if_usable(const std::string& path, const std::function<bool(const TunedDevice&)>& is_ours,
                           bool others_are_default) {
    try {
        TuningFile file = tuning_from_json(read_file(path, largest_file), path);
        if (is_ours(file.device)) return std::move(file.table);
        if (!others_are_default)
            log(LogLevel::warning, "{} was measured on {} ({}): not used", path, file.device.name,
                file.device.driver_version);
    } catch (const Error& problem) {
        log(LogLevel::warning, "tuning not used: {}", problem.what());
    }
    return {};
}

// Letters, digits and dots; '-' for all between them.
std::string file_name_of(const std::string& text) {
    std::string name;
    for (const char c : text.substr(0, 200))
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.')
            name += c;
        else if (!name.empty() && name.back() != '-')
            name += '-';
    return name;
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return !path.empty() && std::filesystem::exists(path, ignored);
}

}  // namespace

TunedDevice TunedDevice::of(const Caps& caps) {
    return {caps.name, caps.driver, caps.driver_version, uuid_text(caps.uuid)};
}

bool TunedDevice::is(const TunedDevice& other) const {
    return matches(name, other.name) && matches(driver, other.driver) &&
           matches(driver_version, other.driver_version) && (uuid.empty() || uuid == other.uuid);
}

TunedDevice TunedDevice::of_its_kind() const {
    static const std::regex version("([0-9]+\\.[0-9]+)\\.[0-9][^ ,)]*");
    return {std::regex_replace(name, version, "$1.*"), driver, std::regex_replace(driver_version, version, "$1.*"), ""};
}

std::string tuning_to_json(const TuningFile& file) {
    Json device = {
        {"name", file.device.name}, {"driver", file.device.driver}, {"driver_version", file.device.driver_version}};
    if (!file.device.uuid.empty()) device["uuid"] = file.device.uuid;
    Json calls = Json::object();
    for (const auto& [key, call] : file.table.calls) {
        Json times = Json::object();
        for (const auto& [kernel, seconds] : call.seconds)
            times[kernel] = seconds ? Json(std::round(1e9 * *seconds) / 1e3) : Json();
        calls[key] = {{"kernel", call.kernel}, {"microseconds", times}};
    }
    const Json all = {{"vantage_tuning", format_version}, {"device", device}, {"calls", calls}};
    return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

TuningFile tuning_from_json(const std::string& text, const std::string& name) {
    const Json json = parse_json(text, name);
    const JsonFields fields(json, name);
    fields.integer("vantage_tuning", format_version, format_version);
    const JsonFields device = fields.object("device"), calls = fields.object("calls");
    TuningFile file{.device = {device.text("name"), device.text("driver"), device.text("driver_version"),
                               device.optional_text("uuid").value_or("")},
                    .table = {}};
    if (calls.json().size() > max_calls)
        throw bad_file_error("{}: {} calls, wanted at most {}", name, calls.json().size(), max_calls);
    for (const auto& [key, call] : calls.json().items()) file.table.calls[key] = call_from_json(key, calls.object(key));
    return file;
}

std::string own_tuning_path(const Caps& caps) {
    const std::string directory = cache_directory();
    if (directory.empty()) return "";
    return directory + "/tuning/" + file_name_of(caps.name + " " + caps.driver_version + " " + uuid_text(caps.uuid)) +
           ".json";
}

TuningTable own_tuning(const Caps& caps) {
    const std::string path = own_tuning_path(caps);
    if (!exists(path)) return {};
    const TunedDevice here = TunedDevice::of(caps);
    return read_if_usable(
        path, [&](const TunedDevice& device) { return device == here; }, false);
}

TuningTable installed_tuning(const Caps& caps) {
    const std::optional<std::string> directory = find_asset("tuning");
    if (!directory) return {};
    std::vector<std::string> paths;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(*directory, ignored))
        if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    TuningTable table;
    const TunedDevice here = TunedDevice::of(caps);
    for (const std::string& path : paths)
        table.merge(read_if_usable(
            path, [&](const TunedDevice& device) { return device.is(here); }, true));
    return table;
}

void add_to_own_tuning(const Caps& caps, const TuningTable& measured) {
    const std::string path = own_tuning_path(caps);
    const FileLock lock(path + ".lock", FileLock::Sweep::file);
    TuningTable table = own_tuning(caps);
    table.merge(measured);
    write_file(path, tuning_to_json({TunedDevice::of(caps), table}), Replaces::own);
}

void add_to_tuning_file(const std::string& path, const TuningFile& measured) {
    std::error_code error;
    if (exists(path) && !std::filesystem::is_regular_file(path, error))
        throw bad_file_error("cannot write {}: a table is added to a file, and this is none", path);
    const FileLock lock(path + ".lock", FileLock::Sweep::file);
    TuningFile file{.device = measured.device, .table = {}};
    if (exists(path)) file = tuning_from_json(read_file(path, largest_file), path);
    if (file.device != measured.device)
        throw bad_file_error("{} is a table of {} ({}), not of {} ({}): nothing is added to it", path, file.device.name,
                             file.device.driver_version, measured.device.name, measured.device.driver_version);
    file.table.merge(measured.table);
    write_file(path, tuning_to_json(file), Replaces::own);
}

bool forget_own_tuning(const Caps& caps) {
    const std::string path = own_tuning_path(caps);
    std::error_code error;
    const bool removed = !path.empty() && std::filesystem::remove(path, error);
    if (error) throw bad_file_error(path + ": cannot be removed: " + error.message());
    return removed;
}

const TuningTable& tuning_of(const Caps& caps) {
    static const TuningTable none;
    static std::mutex mutex;
    static std::map<std::string, TuningTable> tables;  // by path: references into it stay
    if (environment_flag("VANTAGE_DISABLE_TUNING")) return none;
    const std::string path = own_tuning_path(caps);
    const std::string key = path.empty() ? caps.name + "\n" + caps.driver_version : path;
    const std::lock_guard guard(mutex);
    if (const auto read = tables.find(key); read != tables.end()) return read->second;
    TuningTable table = installed_tuning(caps);
    const std::size_t installed = table.calls.size();
    const TuningTable own = own_tuning(caps);
    table.merge(own);
    log(LogLevel::info, "tuning: {} calls were measured here, {} elsewhere on such a device", own.calls.size(),
        installed);
    return tables[key] = std::move(table);
}

}  // namespace vantage::internal
