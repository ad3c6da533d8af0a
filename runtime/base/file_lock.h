// A lock between processes.
#pragma once

#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// An exclusive lock on `path` between processes, held while the object exists. It protects the caches on disk.
/// The file is created when it is missing, with its directories. Throws bad_file when it cannot be created, or when
/// another process holds the lock for more than 2 seconds.
class FileLock : NotCopied {
public:
    explicit FileLock(const std::string& path);
    ~FileLock();

private:
    int fd_ = -1;
};

}  // namespace vantage::internal
