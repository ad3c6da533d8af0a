// A progress line on stderr. Nothing is printed if stderr is not a terminal, or with -q.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/format.h"

namespace vantage::cli {

class Progress {
public:
    explicit Progress(std::string what = {});
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// "head statistics 40 %". Throws interrupted after Ctrl-C, so that every loop with progress can be interrupted.
    void show(std::int64_t done, std::int64_t all);
    /// Any text, shortened to the width of the terminal.
    void show(const std::string& text);
    void clear();

private:
    std::string what_;
    bool wanted_, shown_ = false;
    int percent_ = -1;
};

/// "reading FILE: 40 %", once for each percent: what is called for each document of a file.
inline std::function<void(const std::string& file, double share)> reading(Progress& progress) {
    return [&progress, last = -1](const std::string& file, double share) mutable {
        const int percent = static_cast<int>(100 * share);
        if (percent == last) return;
        last = percent;
        progress.show(format("reading {}: {} %", file, percent));
    };
}

/// Calls `visit(layer, head)` for all heads of these layers, layer by layer, with a progress line.
template <class Integer, class Visit>
void for_each_head(const char* what, const std::vector<std::int64_t>& layers, Integer heads, const Visit& visit) {
    Progress progress(what);
    std::int64_t done = 0;
    for (const std::int64_t layer : layers)
        for (Integer head = 0; head < heads; ++head) {
            progress.show(done++, std::ssize(layers) * heads);
            visit(layer, head);
        }
}

}  // namespace vantage::cli
