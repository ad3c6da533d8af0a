#include "runtime/base/posix.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal::posix {
namespace {

const char* advice(int error) {
    switch (error) {
        case ENOENT: return "check the path";
        case ENOTDIR: return "a part of the path is a file, not a directory";
        case EISDIR: return "name a file, not a directory";
        case EACCES:
        case EPERM: return "check the permissions";
        case EROFS: return "choose a writable directory";
        case ENOSPC:
        case EDQUOT: return "free some space";
        case EMFILE:
        case ENFILE: return "raise the limit of open files, see ulimit -n";
        case ENAMETOOLONG: return "choose a shorter name";
        case ELOOP: return "check the symbolic links";
        case EIO: return "check the disk";
        case ENXIO: return "nothing reads this pipe";
        default: return "";
    }
}

}  // namespace

std::string quoted(const std::string& path) {
    std::string text = "'";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        text += byte < 0x20 || byte == 0x7f ? format("\\x{:02x}", byte) : std::string(1, c);
    }
    return text + "'";
}

void throw_file_error(const char* what, const std::string& path, int error) {
    if (error == EINTR) throw_if_interrupted();
    std::string message = std::string(what) + " " + quoted(path) + ": " + std::generic_category().message(error);
    if (*advice(error) != '\0') message += std::string(" (") + advice(error) + ")";
    throw bad_file_error(message);
}

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

int Descriptor::close() {
    const int result = ::close(std::exchange(fd_, -1));
    return result == 0 || errno == EINTR ? 0 : errno;  // after EINTR Linux has closed the file
}

int open_file(const char* path, int flags, mode_t mode) {
    int fd = -1;
    int waits = O_NONBLOCK;
    do {
        fd = ::open(path, flags | O_CLOEXEC | waits, mode);
        if (fd < 0 && errno == EWOULDBLOCK && waits != 0) {  // a regular file that a server has a lease of
            waits = 0;
            errno = EINTR;
        }
    } while (fd < 0 && errno == EINTR && !interrupted());
    // A pipe is read and written as usual: only opening it does not wait.
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

int read_all(int fd, std::size_t limit, std::string& text) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    struct stat status {};
    const bool sized = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    std::size_t wanted = sized ? static_cast<std::size_t>(status.st_size) + 1 : piece;  // + 1 to find the end
    std::size_t size = 0;
    while (size <= limit) {
        text.resize(size + std::min(wanted, limit - size + 1));
        const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
        if (count < 0) {
            if (errno == EINTR && !interrupted()) continue;
            return errno;
        }
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
        if (size == text.size()) wanted = std::max(piece, size);  // grow by doubling
    }
    text.resize(size);
    return 0;
}

int write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0) {
            if (errno == EINTR && !interrupted()) continue;
            return errno;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return 0;
}

int sync(int fd) {
    while (::fsync(fd) != 0) {
        if (errno == EINVAL || errno == ENOTSUP) return 0;  // what is no disk
        if (errno != EINTR || interrupted()) return errno;
    }
    return 0;
}

}  // namespace vantage::internal::posix
