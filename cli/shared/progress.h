// A progress line on stderr. Nothing is printed if stderr is not a terminal, or with -q.
#pragma once

#include <cstdint>
#include <string>

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

/// Calls `visit(layer, head)` for all heads, layer by layer, with a progress line.
template <class Integer, class Visit>
void for_each_head(const char* what, Integer layers, Integer heads, const Visit& visit) {
    Progress progress(what);
    for (Integer layer = 0; layer < layers; ++layer)
        for (Integer head = 0; head < heads; ++head) {
            progress.show(layer * heads + head, layers * heads);
            visit(layer, head);
        }
}

}  // namespace vantage::cli
