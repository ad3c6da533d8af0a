#include "runtime/base/assets.h"

#include <filesystem>
#include <vector>

#include "runtime/base/options.h"
#include "runtime/base/program.h"

namespace vantage::internal {

std::optional<std::string> find_asset(const std::string& name) {
    namespace fs = std::filesystem;
    std::vector<fs::path> places;
    if (const auto assets = environment("VANTAGE_ASSETS")) places.emplace_back(*assets);
    constexpr int most_levels = 3;  // build/release/vantage of a checkout
    std::error_code ignored;
    fs::path folder = fs::path(program_path()).parent_path();
    for (int level = 0; level < most_levels && !folder.empty() && folder != folder.root_path(); ++level) {
        const bool others_write =
            (fs::status(folder, ignored).permissions() & fs::perms::others_write) != fs::perms::none;
        if (!others_write) {
            places.push_back(folder / "share" / "vantage");  // an installation: PREFIX/bin/vantage
            places.push_back(folder / "assets");             // a checkout
        }
        folder = folder.parent_path();
    }
    for (const fs::path& place : places)
        if (fs::exists(place / name, ignored)) return (place / name).string();
    return std::nullopt;
}

}  // namespace vantage::internal
