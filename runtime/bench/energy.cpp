#include "runtime/bench/energy.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

/// The number in a file of /sys.
std::optional<double> number_in(const std::string& path) {
    std::string text;
    try {
        text = read_file(path, 4096);
    } catch (const Error&) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = end == text.data() + text.size() || *end == '\n';
    if (error != std::errc() || !whole) return std::nullopt;
    return static_cast<double>(number);
}

/// The entries of a directory whose names begin with `begin`, in order.
std::vector<fs::path> entries(const fs::path& directory, const std::string& begin) {
    std::vector<fs::path> found;
    std::error_code failed;
    for (fs::directory_iterator i(directory, failed), end; !failed && i != end; i.increment(failed))
        if (i->path().filename().string().starts_with(begin)) found.push_back(i->path());
    std::ranges::sort(found);
    return found;
}

}  // namespace

EnergyMeter::EnergyMeter(const Caps& caps, const std::string& system) {
    if (caps.is_cpu()) {
        for (const fs::path& package : entries(fs::path(system) / "class/powercap", "intel-rapl:")) {
            // "intel-rapl:0:1" is a part of package 0.
            if (std::ranges::count(package.filename().string(), ':') != 1) continue;
            const double range = number_in((package / "max_energy_range_uj").string()).value_or(0);
            add_sensor({.path = (package / "energy_uj").string(), .range = range});
        }
    } else if (!caps.pci.empty()) {
        for (const fs::path& sensors : entries(fs::path(system) / "bus/pci/devices" / caps.pci / "hwmon", "hwmon"))
            for (const char* name : {"energy1_input", "power1_average", "power1_input"})
                if (sensors_.empty())
                    add_sensor({.path = (sensors / name).string(), .is_power = std::string(name) != "energy1_input"});
    }
    if (sensors_.empty()) return;
    last_seconds_ = seconds_now();
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            std::unique_lock lock(mutex_);
            while (!stop.stop_requested()) {
                wake_.wait_for(lock, stop, std::chrono::milliseconds(50), [] { return false; });
                sample();
            }
        });
    } catch (const std::system_error& error) {
        log(LogLevel::warning, "energy is not measured: {}", error.what());
        sensors_.clear();
        source_.clear();
    }
}

EnergyMeter::~EnergyMeter() = default;

void EnergyMeter::add_sensor(Sensor sensor) {
    const std::optional<double> now = number_in(sensor.path);
    if (!now) return;
    sensor.last = *now;
    source_ += (source_.empty() ? "" : ", ") + sensor.path;
    sensors_.push_back(std::move(sensor));
}

// With the lock held.
void EnergyMeter::sample() {
    const double seconds = seconds_now();
    for (Sensor& sensor : sensors_) {
        const double now = number_in(sensor.path).value_or(std::nan(""));
        if (sensor.is_power)
            joules_ += 1e-6 * (sensor.last + now) / 2 * (seconds - last_seconds_);
        else if (now >= sensor.last)
            joules_ += 1e-6 * (now - sensor.last);
        else  // NaN if it counted backwards without a range
            joules_ += sensor.range > 0 ? 1e-6 * (now + sensor.range - sensor.last) : std::nan("");
        sensor.last = now;
    }
    last_seconds_ = seconds;
}

double EnergyMeter::joules() {
    if (sensors_.empty()) return std::nan("");
    const std::lock_guard lock(mutex_);
    sample();
    return joules_;
}

}  // namespace vantage::internal
