// One line on stderr that says how far work is; nothing where stderr is no terminal, and with -q.
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
    /// "reading the heads 40 %". Throws interrupted after Ctrl-C, so that a loop that shows its progress also ends.
    void show(std::int64_t done, std::int64_t all);
    /// What runs now, cut to the terminal's width.
    void show(const std::string& text);
    void clear();

private:
    std::string what_;
    bool wanted_, shown_ = false;
    int percent_ = -1;
};

}  // namespace vantage::cli
