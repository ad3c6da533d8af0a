#include "cli/shared/step_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "cli/shared/command_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"

namespace vantage::cli {

CLI::Option* add_recompute_option(CLI::App& command, std::string& recompute) {
    return add_setting(
        command, "--recompute", recompute,
        "Activations to recompute in the backward pass instead of keeping them: auto (as few as fit into the memory), "
        "none, cheap, or a number of blocks");
}

std::int64_t recompute_named(const std::string& text) {
    constexpr std::array names{"auto", "none", "cheap"};
    const auto found = std::ranges::find(names, text);
    if (found != names.end()) return found - names.begin() - 1;
    std::int64_t blocks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), blocks);
    if (error != std::errc() || end != text.data() + text.size() || blocks < 1 || blocks > 1 << 20)
        throw usage_error("--recompute {}: expected auto, none, cheap or a number of blocks", text);
    return 1 + blocks;
}

std::string recomputed_text(std::int64_t recompute) {
    if (recompute == 0) return "nothing is recomputed";
    if (recompute == 1) return "cheap activations are recomputed";
    return format("cheap activations and those of {} block{} are recomputed", recompute - 1, recompute == 2 ? "" : "s");
}

}  // namespace vantage::cli
