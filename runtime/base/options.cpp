#include "runtime/base/options.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/errors.h"
#include "runtime/base/terminal.h"

namespace vantage::internal {

std::optional<std::string> environment(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

bool environment_flag(const char* name) {
    static constexpr const char *yes[] = {"1", "true", "yes", "on"}, *no[] = {"0", "false", "no", "off"};
    const std::optional<std::string> value = environment(name);
    if (!value) return false;
    std::string word = *value;
    for (char& c : word)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (std::ranges::count(yes, word) > 0) return true;
    if (std::ranges::count(no, word) > 0) return false;
    throw usage_error(std::string(name) + "=" + *value + " is not a switch: use 1, true, yes, on or 0, false, no, off");
}

namespace {
std::string xdg_directory(const char* variable, const char* below_home) {
    // The XDG specification says that relative paths are ignored.
    if (const auto xdg = environment(variable); xdg && xdg->front() == '/') return *xdg + "/vantage";
    if (const auto home = environment("HOME"); home && home->front() == '/') return *home + below_home;
    return "";
}
}  // namespace

std::string config_directory() { return xdg_directory("XDG_CONFIG_HOME", "/.config/vantage"); }

std::string cache_directory() {
    if (const auto own = environment("VANTAGE_CACHE_DIR")) return *own;
    return xdg_directory("XDG_CACHE_HOME", "/.cache/vantage");
}

bool colour_wanted(int fd) {
    return is_terminal(fd) && !environment("NO_COLOR") && environment("TERM").value_or("") != "dumb";
}

}  // namespace vantage::internal
