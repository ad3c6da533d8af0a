#include "cli/shared/progress.h"

#include <algorithm>
#include <cstdio>

#include "cli/shared/commands.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/terminal.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/shown_text.h"

namespace vantage::cli {

namespace {
constexpr int stderr_fd = 2;
}

Progress::Progress(std::string what) : what_(std::move(what)), wanted_(is_terminal(stderr_fd) && !common().quiet) {}

void Progress::show(std::int64_t done, std::int64_t all) {
    throw_if_interrupted();
    if (!wanted_ || all <= 0) return;
    const int percent = static_cast<int>(100 * done / all);
    if (percent != percent_) show(format("{} {} %", what_, percent_ = percent));
}

void Progress::show(const std::string& text) {
    if (!wanted_) return;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s",
                 shortened(escape_controls(text), std::max(terminal_columns(stderr_fd) - 1, 20)).c_str());
    std::fflush(stderr);
}

void Progress::clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
}

}  // namespace vantage::cli
