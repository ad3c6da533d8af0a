// File descriptors, and errors of POSIX calls as messages. For the files of this directory.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "runtime/base/internal.h"

namespace vantage::internal::posix {

/// The path in quotes, with control characters escaped, so that a message stays one line.
std::string quoted(const std::string& path);
/// Throws bad_file: "WHAT 'PATH': the system's text for `error` (what to do)". `error` is an errno.
[[noreturn]] void throw_file_error(const char* what, const std::string& path, int error);

/// An open file, which the destructor closes.
class Descriptor : NotCopied {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor();
    int get() const { return fd_; }
    /// Leaves closing it to the caller.
    int release() { return std::exchange(fd_, -1); }
    /// Closes it now; some file systems report a failed write only here. 0 or errno.
    int close();

private:
    int fd_;
};

/// open(2) with O_CLOEXEC. Repeats an interrupted call, except after Ctrl-C. Opening a pipe does not wait for the
/// program at its other end: for reading the pipe is empty, for writing that is ENXIO. Negative, with errno, when it
/// fails.
int open_file(const char* path, int flags, mode_t mode = 0);
/// Appends everything that can be read to `text`, but at most `limit` + 1 bytes: the last one shows that there is more
/// than allowed. 0 or errno.
int read_all(int fd, std::size_t limit, std::string& text);
/// Writes all bytes. 0 or errno.
int write_all(int fd, std::span<const std::byte> bytes);
/// Brings what was written to the disk. 0, or the error; where there is no disk, nothing is to be done.
int sync(int fd);

}  // namespace vantage::internal::posix
