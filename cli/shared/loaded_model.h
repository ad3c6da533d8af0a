// The model of a command on its device. Both are opened again when the device is lost (--recover).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/shared/cli11.h"
#include "runtime/base/internal.h"
#include "vantage/model.h"

namespace vantage::cli {

/// --recover and --no-recover; the default is the current value of `recovers`.
void add_recover_option(CLI::App& command, bool& recovers);

using OpenDevice = std::function<Device(const std::string& wish)>;
/// Opens the device again after a loss. If no device was named, another one may take its place, which is reported as a
/// fallback. Throws device_lost if there is none.
Device open_again(const OpenDevice& open, const Caps& lost);

class LoadedModel : NotCopied {
public:
    /// Opens the device of --device by `open`, and loads the model of -m (`tower`, see load_model); with `recovers`
    /// once more after a loss.
    explicit LoadedModel(
        bool recovers, Tower tower = Tower::text,
        OpenDevice open = [](const std::string& wish) { return Device::open(wish); });

    const Model& operator*() const { return *model_; }
    const Model* operator->() const { return &*model_; }
    bool recovers() const { return recovers_; }
    /// Opens the device again and loads the model again. If no device was named, another one may take its place, which
    /// is reported as a fallback. Frees the old ones first, as far as nothing else holds them.
    Model reload();
    /// For GeneratorOptions::reload: `reload`, or empty.
    std::function<Model()> reloader();
    /// What `make` returns for the model; with the model loaded again if that lost the device.
    template <class Make>
    auto make(Make make) {
        try {
            return make(*model_);
        } catch (const Error& error) {
            note_loss(error);
        }
        reload();
        return make(*model_);
    }
    /// Logs the loss of the device; throws other errors, and a loss that is not to be recovered from. For handlers.
    void note_loss(const Error& error) const;

private:
    void load(const Device& device);

    bool recovers_;
    Tower tower_;
    OpenDevice open_;
    Caps device_;  ///< what is known of the last one
    std::optional<Model> model_;
};

}  // namespace vantage::cli
