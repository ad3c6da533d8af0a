// Energy from the sensors of the system, in folders like those of /sys.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "runtime/bench/energy.h"
#include "temporary_directory.h"

using namespace vantage;
using Catch::Approx;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

Caps a_gpu() { return {.pci = "0000:03:00.0", .type = DeviceType::discrete}; }
Caps a_cpu() { return {.type = DeviceType::cpu}; }

}  // namespace

TEST_CASE("Energy is read from the sensors that the system has", "[bench]") {
    const test::TemporaryDirectory system;
    const std::filesystem::path root(system.path());
    const std::filesystem::path sensors = root / "bus/pci/devices/0000:03:00.0/hwmon/hwmon3";
    const std::filesystem::path packages = root / "class/powercap";

    SECTION("none") {
        for (const Caps& caps : {a_gpu(), a_cpu(), Caps{.type = DeviceType::discrete}}) {
            EnergyMeter meter(caps, system.path());
            CHECK(meter.source().empty());
            CHECK(std::isnan(meter.joules()));
        }
    }
    SECTION("a GPU's counter, before its power") {
        write(sensors / "energy1_input", "5000000\n");
        write(sensors / "power1_average", "1\n");
        EnergyMeter meter(a_gpu(), system.path());
        CHECK(meter.source() == (sensors / "energy1_input").string());
        CHECK(meter.joules() == 0);
        write(sensors / "energy1_input", "7500000\n");
        CHECK(meter.joules() == Approx(2.5));
        CHECK(EnergyMeter({.pci = "0000:04:00.0", .type = DeviceType::discrete}, system.path()).source().empty());
    }
    SECTION("a GPU's power, over time") {
        write(sensors / "power1_average", "40000000\n");  // 40 W
        EnergyMeter meter(a_gpu(), system.path());
        double last = 0;
        for (int i = 0; i < 3; ++i) {
            const double now = meter.joules();
            CHECK(now > last);
            last = now;
        }
    }
    SECTION("the packages of a CPU, without their parts") {
        write(packages / "intel-rapl:0/energy_uj", "1000000\n");
        write(packages / "intel-rapl:0/max_energy_range_uj", "9000000\n");
        write(packages / "intel-rapl:0:0/energy_uj", "77\n");
        write(packages / "intel-rapl:1/energy_uj", "2000000\n");
        EnergyMeter meter(a_cpu(), system.path());
        write(packages / "intel-rapl:0:0/energy_uj", "77000000\n");
        write(packages / "intel-rapl:1/energy_uj", "2500000\n");
        CHECK(meter.joules() == Approx(0.5));
        write(packages / "intel-rapl:0/energy_uj", "400000\n");  // began again after 9 J
        CHECK(meter.joules() == Approx(0.5 + 8.4));
        write(packages / "intel-rapl:1/energy_uj", "1\n");  // without a range it cannot be continued
        CHECK(std::isnan(meter.joules()));
    }
    SECTION("what is not a number is not a sensor, or ends the measurement") {
        write(sensors / "energy1_input", "n/a\n");
        write(sensors / "power1_input", "3000000\n");
        EnergyMeter meter(a_gpu(), system.path());
        CHECK(meter.source() == (sensors / "power1_input").string());
        std::filesystem::remove(sensors / "power1_input");
        CHECK(std::isnan(meter.joules()));
    }
}
