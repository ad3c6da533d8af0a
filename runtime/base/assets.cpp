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
    for (fs::path folder = fs::path(program_path()).parent_path(); !folder.empty() && folder != folder.root_path();
         folder = folder.parent_path()) {
        places.push_back(folder / "share" / "vantage");  // an installation: PREFIX/bin/vantage
        places.push_back(folder / "assets");             // a checkout: build/release/vantage
    }
    std::error_code ignored;
    for (const fs::path& place : places)
        if (fs::exists(place / name, ignored)) return (place / name).string();
    return std::nullopt;
}

}  // namespace vantage::internal
