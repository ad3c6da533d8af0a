#include "cli/shared/loaded_model.h"

#include <CLI/CLI.hpp>

#include "cli/shared/commands.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"

namespace vantage::cli {

namespace {

bool is_same(const Caps& a, const Caps& b) { return a.uuid == b.uuid && a.name == b.name && a.driver == b.driver; }

/// Whether the user has asked for a device.
bool device_named() {
    const std::string wish = common().device.empty() ? environment("VANTAGE_DEVICE").value_or("auto") : common().device;
    return wish != "auto";
}

}  // namespace

void add_recover_option(CLI::App& command, bool& recovers) {
    command.add_flag("--recover,!--no-recover", recovers,
                     "If the device is lost, open it again, run the text's tokens again and go on; a second loss "
                     "before another token ends the program. Default: " +
                         std::string(recovers ? "on" : "off"));
}

LoadedModel::LoadedModel(bool recovers, Tower tower, OpenDevice open)
    : recovers_(recovers), tower_(tower), open_(std::move(open)) {
    try {
        load(open_(common().device));
        return;
    } catch (const Error& error) {
        note_loss(error);
    }
    reload();
}

void LoadedModel::load(const Device& device) {
    device_ = device.caps();
    log(LogLevel::info, "device: {} ({} {})", device_.name, device_.driver, device_.driver_version);
    model_.emplace(load_model(device, tower_));
}

void LoadedModel::note_loss(const Error& error) const {
    if (error.kind() != ErrorKind::device_lost || !recovers_) throw Error(error);
    log(LogLevel::warning, "recovering: {}", error.what());
}

Device open_again(const OpenDevice& open, const Caps& lost) {
    const auto going_on_with = [&](const Device& other, const std::string& why) {
        fall_back(format("{} {}; going on with {}", lost.name, why, other.caps().name));
        return other;
    };
    std::optional<Device> found;
    std::string why;
    try {
        found = open(common().device);
    } catch (const Error& error) {
        if (device_named() || error.kind() == ErrorKind::usage || error.kind() == ErrorKind::interrupted) throw;
        why = format("cannot be opened again ({})", error.what());
    }
    if (found && (device_named() || lost.name.empty() || is_same(found->caps(), lost))) return *found;
    if (found) return going_on_with(*found, "is gone");
    for (const DeviceListing& other : Device::list())
        if (other.usable && !is_same(other.caps, lost))
            return going_on_with(open("vulkan:" + std::to_string(other.index)), why);
    throw Error(ErrorKind::device_lost, lost.name + " " + why);
}

Model LoadedModel::reload() {
    model_.reset();
    load(open_again(open_, device_));
    return *model_;
}

std::function<Model()> LoadedModel::reloader() {
    if (!recovers_) return {};
    return [this] { return reload(); };
}

}  // namespace vantage::cli
