#include "runtime/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "runtime/base/interrupt.h"
#include "runtime/base/posix.h"

namespace vantage::internal {

FileLock::FileLock(const std::string& path) {
    const std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (std::error_code error; !directory.empty() && !std::filesystem::create_directories(directory, error) && error)
        posix::throw_file_error("cannot create the directory", directory.string(), error.value());
    fd_ = posix::open_file(path.c_str(), O_RDWR | O_CREAT, 0666);
    if (fd_ < 0) posix::throw_file_error("cannot lock", path, errno);
    // A limit, because a process that was stopped while it held the lock must not block all others.
    constexpr std::chrono::milliseconds limit(2000), pause(10);
    for (auto waited = std::chrono::milliseconds(0); waited < limit && !interrupted(); waited += pause) {
        if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
        if (errno != EWOULDBLOCK && errno != EINTR) break;
        std::this_thread::sleep_for(pause);
    }
    const int error = errno;
    ::close(fd_);  // no destructor runs after a throwing constructor
    throw_if_interrupted();
    posix::throw_file_error("cannot lock", path, error);
}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);  // releases the lock
}

}  // namespace vantage::internal
