// A file that lines are appended to, such as a log.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/posix.h"

namespace vantage::internal {

/// A line is written whole or not at all. One that cannot be written, for example on a full disk, is left out with a
/// warning (only the first time), so that the work that is logged goes on.
class LineFile : NotCopied {
public:
    /// Throws bad_file if the file cannot be opened.
    explicit LineFile(const std::string& path);
    void add(std::string_view line);

private:
    std::string path_;
    posix::Descriptor file_;
    bool warned_ = false;
};

}  // namespace vantage::internal
