#include "runtime/base/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/posix.h"

namespace vantage::internal {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

int terminal_columns(int fd) {
    winsize size{};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void open_standard_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // the lowest free number is this one
            static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

std::string read_stdin(std::size_t limit) {
    const auto fail = [limit] { throw bad_file_error("standard input has more than {} bytes", limit); };
    struct stat status {};
    const bool regular = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size - ::lseek(STDIN_FILENO, 0, SEEK_CUR) > static_cast<off_t>(limit)) fail();
    std::string text;
    if (const int error = posix::read_all(STDIN_FILENO, limit, text); error != 0) {
        throw_if_interrupted();
        posix::throw_file_error("cannot read", "standard input", error);
    }
    if (text.size() > limit) fail();
    return text;
}

static std::string without_return(std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

std::optional<std::string> read_line(std::size_t limit) {
    static std::string ahead;  // read, but not yet returned
    std::array<char, 4096> piece{};
    std::size_t end = ahead.find('\n'), searched = 0;
    while (end == std::string::npos) {
        throw_if_interrupted();
        searched = ahead.size();
        const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) posix::throw_file_error("cannot read", "standard input", errno);
        if (count == 0) {
            if (ahead.empty()) return std::nullopt;
            return without_return(std::exchange(ahead, {}));
        }
        ahead.append(piece.data(), static_cast<std::size_t>(count));
        end = ahead.find('\n', searched);
        if (ahead.size() > limit) throw bad_file_error("a line of standard input has more than {} bytes", limit);
    }
    std::string line = ahead.substr(0, end);
    ahead.erase(0, end + 1);
    return without_return(std::move(line));
}

}  // namespace vantage::internal
