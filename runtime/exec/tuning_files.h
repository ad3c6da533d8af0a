// Where tuning tables are kept: the user's own, made by `vantage tune`, and those that are installed with the program.
#pragma once

#include <string>

#include "runtime/graph/tuning.h"
#include "vantage/device.h"

namespace vantage::internal {

/// The device that a table was measured on. In installed tables texts may hold '*', which stands for anything.
struct TunedDevice {
    std::string name, driver, driver_version, uuid;  ///< uuid empty = any
    static TunedDevice of(const Caps& caps);
    bool is(const TunedDevice& other) const;
    /// All devices of this name under drivers that differ in the last part of a version: "Mesa 22.3.* (LLVM 15.0.*)".
    TunedDevice of_its_kind() const;
    bool operator==(const TunedDevice&) const = default;
};

struct TuningFile {
    TunedDevice device;
    TuningTable table;
    bool operator==(const TuningFile&) const = default;
};
/// JSON in both directions. Reading throws bad_file with the field's name; what is well-formed but unknown to this
/// program (ops, kernels) is kept, and ignored by TuningTable::choose.
std::string tuning_to_json(const TuningFile& file);
TuningFile tuning_from_json(const std::string& text, const std::string& name);

/// The file of the user's own table for this device and driver; empty where there is no cache directory.
std::string own_tuning_path(const Caps& caps);
/// The user's own table. Without a file, or with one that is damaged, of another device or of another version of the
/// format, an empty one, and a warning says so.
TuningTable own_tuning(const Caps& caps);
/// What the installed tables (tuning/*.json among the assets) say of this device; the same about damaged files.
TuningTable installed_tuning(const Caps& caps);

/// Adds what was measured to the user's own table, which is made when missing; what it has of other calls stays, unless
/// it is damaged or of another device. Throws bad_file.
void add_to_own_tuning(const Caps& caps, const TuningTable& measured);
/// Adds to a table anywhere, made when missing; what it has of other calls stays. Throws bad_file for what cannot be
/// written, and leaves a file that is no table, or one of another device, as it is.
void add_to_tuning_file(const std::string& path, const TuningFile& measured);
/// Removes the user's own table; false when there was none.
bool forget_own_tuning(const Caps& caps);

/// What plans on this device choose by: the user's own table before the installed ones, read once in a process for a
/// cache directory. Empty with VANTAGE_DISABLE_TUNING=1.
const TuningTable& tuning_of(const Caps& caps);

}  // namespace vantage::internal
