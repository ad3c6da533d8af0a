#include "runtime/base/os.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage {
namespace {

/// The path in quotes; control characters are shown as escapes, so that a message stays one line.
std::string quoted(const std::string& path) {
    std::string text = "'";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        text += byte < 0x20 || byte == 0x7f ? format("\\x%02x", byte) : std::string(1, c);
    }
    return text + "'";
}

const char* advice(int error) {
    switch (error) {
        case ENOENT: return "check the path";
        case ENOTDIR: return "a part of the path is a file, not a directory";
        case EISDIR: return "name a file, not a directory";
        case EACCES:
        case EPERM: return "check the permissions";
        case EROFS: return "choose a place that can be written";
        case ENOSPC:
        case EDQUOT: return "free some space";
        case EMFILE:
        case ENFILE: return "raise the limit of open files, see ulimit -n";
        case ENAMETOOLONG: return "choose a shorter name";
        case ELOOP: return "check the symbolic links";
        case EIO: return "check the disk";
        default: return "";
    }
}

[[noreturn]] void throw_file_error(const char* what, const std::string& path, int error) {
    std::string message = std::string(what) + " " + quoted(path) + ": " + std::generic_category().message(error);
    if (*advice(error) != '\0') message += std::string(" (") + advice(error) + ")";
    throw Error(ErrorKind::bad_file, message);
}

/// An open file, closed on every way out.
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    /// Closes now; some file systems report a failed write only here. 0 or errno.
    int close() {
        const int result = ::close(std::exchange(fd_, -1));
        return result == 0 || errno == EINTR ? 0 : errno;  // after EINTR Linux has closed it all the same
    }

private:
    int fd_;
};

int open_retrying(const char* path, int flags, mode_t mode = 0) {
    int fd = -1;
    do {
        fd = ::open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR && !interrupted());
    return fd;
}

/// Appends all that can be read, `limit` + 1 bytes at most (one more than allowed shows that there is too much).
/// Returns 0 or errno.
int read_all(int fd, std::size_t limit, std::string& text) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    struct stat status {};
    const bool sized = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    std::size_t wanted = sized ? static_cast<std::size_t>(status.st_size) + 1 : piece;  // + 1 to meet the end
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

/// 0 or errno.
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

/// Removes the file unless told that it has become the real one.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
    ~TemporaryFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const char* path() const { return path_.c_str(); }
    void keep() { path_.clear(); }

private:
    std::string path_;
};

/// For a file at `path`; throws when it cannot be made.
int open_new(TemporaryFile& temporary, const std::string& path) {
    const int fd = open_retrying(temporary.path(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0) return fd;
    const int error = errno;
    if (error == EEXIST) temporary.keep();  // not ours
    throw_file_error("cannot write", path, error);
}

/// Of what a file at `path` would replace, which is no folder; zeros where there is nothing.
struct stat status_of_target(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    if (S_ISDIR(status.st_mode)) throw_file_error("cannot write", path, EISDIR);
    return status;
}

/// Behind a symbolic link the file changes, not the link.
std::string behind_links(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
}

/// Makes the rename survive a power cut. Not every file system can, and the data is in place, so failing is no error.
void sync_directory(const std::string& path) {
    const Descriptor directory(open_retrying(path.c_str(), O_RDONLY | O_DIRECTORY));
    if (directory.get() >= 0) static_cast<void>(::fsync(directory.get()));
}

/// A name beside `target` that no other thread or process uses.
std::string temporary_name(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    return target + format(".tmp-%ld-%u", static_cast<long>(::getpid()), counter.fetch_add(1));
}

std::atomic<int> interrupt_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_interrupt(int signal) {
    if (interrupt_signal.exchange(signal) != 0) ::_exit(130);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
    const Descriptor file(open_retrying(path.c_str(), O_RDONLY));
    if (file.get() < 0) throw_file_error("cannot open", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw_file_error("cannot open", path, errno);
    if (S_ISDIR(status.st_mode)) throw_file_error("cannot open", path, EISDIR);
    if (!S_ISREG(status.st_mode)) {
        throw Error(ErrorKind::bad_file, "cannot map " + quoted(path) + ": it is no regular file (a pipe or device)");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;  // nothing can be mapped, and nothing has to
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) throw_file_error("cannot map", path, errno);
    data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t offset, std::size_t size) const {
    if (offset >= size_) return;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Whole pages only: a neighbour that shares the first or last page may still be wanted.
    const std::size_t end_of_range = size > size_ - offset ? size_ : offset + size;
    const std::size_t begin = (offset + page - 1) / page * page;
    const std::size_t end = end_of_range == size_ ? size_ : end_of_range / page * page;
    if (begin >= end) return;
    // Advice only: when it is not taken, the pages merely stay a little longer.
    static_cast<void>(::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED));
}

std::string read_file(const std::string& path, std::size_t limit) {
    const Descriptor file(open_retrying(path.c_str(), O_RDONLY));
    if (file.get() < 0) throw_file_error("cannot read", path, errno);
    struct stat status {};
    const bool regular = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    std::string text;
    const bool known_too_large = regular && static_cast<std::uint64_t>(status.st_size) > limit;
    if (!known_too_large) {
        if (const int error = read_all(file.get(), limit, text); error != 0) {
            throw_if_interrupted();
            throw_file_error("cannot read", path, error);
        }
        if (text.size() <= limit) return text;
    }
    const std::string found = known_too_large ? std::to_string(status.st_size) : "more than " + std::to_string(limit);
    throw Error(ErrorKind::bad_file, "cannot read " + quoted(path) + ": it has " + found + " bytes, at most " +
                                         std::to_string(limit) + " are allowed here (is it the right file?)");
}

std::string read_stdin() {
    std::string text;
    if (const int error = read_all(STDIN_FILENO, SIZE_MAX - 1, text); error != 0) {
        throw_if_interrupted();
        throw_file_error("cannot read", "standard input", error);
    }
    return text;
}

std::optional<std::string> read_line() {
    static std::string ahead;  // read, but not yet asked for
    std::array<char, 4096> piece{};
    std::size_t end = ahead.find('\n'), looked_at = 0;
    while (end == std::string::npos) {
        throw_if_interrupted();
        looked_at = ahead.size();
        const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_file_error("cannot read", "standard input", errno);
        if (count == 0) {
            if (ahead.empty()) return std::nullopt;
            return std::exchange(ahead, {});
        }
        ahead.append(piece.data(), static_cast<std::size_t>(count));
        end = ahead.find('\n', looked_at);
    }
    std::string line = ahead.substr(0, end);
    ahead.erase(0, end + 1);
    return line;
}

struct FileWriter::State {
    std::string path, target;
    mode_t mode = 0;  // of the file that is replaced; 0: there is none, the umask decides
    std::optional<TemporaryFile> temporary;
    std::optional<Descriptor> file;

    [[noreturn]] void fail(int error) const {
        throw_if_interrupted();
        throw_file_error("cannot write", path, error);
    }
    /// Pipes and devices (/dev/null, /dev/stdout) cannot be replaced and must not be.
    bool opened_in_place() {
        const struct stat status = status_of_target(path);
        if (status.st_mode == 0) return false;
        mode = status.st_mode & 07777;
        if (S_ISREG(status.st_mode)) return false;
        file.emplace(open_retrying(path.c_str(), O_WRONLY));
        if (file->get() < 0) fail(errno);
        return true;
    }
};

FileWriter::FileWriter(const std::string& path) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.path = path;
    if (s.opened_in_place()) return;
    s.target = behind_links(path);
    s.temporary.emplace(temporary_name(s.target));
    s.file.emplace(open_new(*s.temporary, path));
}

FileWriter::~FileWriter() = default;

void FileWriter::write(std::span<const std::byte> bytes) {
    if (const int error = write_all(state_->file->get(), bytes); error != 0) state_->fail(error);
}

void FileWriter::write(const std::string& text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void FileWriter::finish() {
    State& s = *state_;
    int error = 0;
    if (s.temporary && s.mode != 0 && ::fchmod(s.file->get(), s.mode) != 0) error = errno;
    if (s.temporary && error == 0 && ::fsync(s.file->get()) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
    if (const int closing = s.file->close(); error == 0) error = closing;
    if (s.temporary && error == 0 && ::rename(s.temporary->path(), s.target.c_str()) != 0) error = errno;
    if (error != 0) s.fail(error);
    if (!s.temporary) return;
    s.temporary->keep();
    const std::string directory = std::filesystem::path(s.target).parent_path().string();
    sync_directory(directory.empty() ? "." : directory);
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
    FileWriter file(path);
    file.write(bytes);
    file.finish();
}

void write_file(const std::string& path, const std::string& text) {
    write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

void require_writable(const std::string& path) {
    if (const mode_t mode = status_of_target(path).st_mode; mode != 0 && !S_ISREG(mode)) return;  // written in place
    TemporaryFile temporary(temporary_name(behind_links(path)));
    const Descriptor file(open_new(temporary, path));
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

int terminal_columns(int fd) {
    winsize size{};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigemptyset(&action.sa_mask);
    // No SA_RESTART: a read that waits for the user must come back.
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_signal.load(std::memory_order_relaxed) != 0; }

void throw_if_interrupted() {
    if (interrupted()) throw Error(ErrorKind::interrupted, "interrupted");
}

bool take_interrupt() {
    int expected = SIGINT;
    return interrupt_signal.compare_exchange_strong(expected, 0);
}

namespace {

/// Our variables with others in their place.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        if (changed.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
    }
    for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

void read_to_end(int fd, double begin, Finished& finished) {
    std::array<char, 4096> piece;
    while (true) {
        const ssize_t count = ::read(fd, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        if (finished.out.empty()) finished.first_output_seconds = seconds_now() - begin;
        finished.out.append(piece.data(), static_cast<std::size_t>(count));
    }
}

}  // namespace

TemporaryFolder::TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "vantage-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw_file_error("cannot make the folder", path_, errno);
}
TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Finished run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
    std::vector<std::string> arguments = command, variables = environment_with(environment);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_file_error("cannot make a pipe for", command.front(), errno);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    Finished finished;
    pid_t child = 0;
    const double begin = seconds_now();
    const int error = ::posix_spawn(&child, command.front().c_str(), &files, nullptr, pointers_to(arguments).data(),
                                    pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (error == 0) read_to_end(ends[0], begin, finished);
    ::close(ends[0]);
    if (error != 0) throw_file_error("cannot run", command.front(), error);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return finished;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string program_path() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : path.string();
}

FileLock::FileLock(const std::string& path) {
    const std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (std::error_code error; !directory.empty() && !std::filesystem::create_directories(directory, error) && error) {
        throw_file_error("cannot create the directory", directory.string(), error.value());
    }
    fd_ = open_retrying(path.c_str(), O_RDWR | O_CREAT, 0666);
    if (fd_ < 0) throw_file_error("cannot lock", path, errno);
    // A process that was stopped while it held the lock must not hold up all others.
    constexpr std::chrono::milliseconds patience(2000), nap(10);
    for (auto waited = std::chrono::milliseconds(0); waited < patience && !interrupted(); waited += nap) {
        if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
        if (errno != EWOULDBLOCK && errno != EINTR) break;
        std::this_thread::sleep_for(nap);
    }
    const int error = errno;
    ::close(fd_);  // no destructor runs after a throwing constructor
    throw_if_interrupted();
    throw_file_error("cannot lock", path, error);
}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);  // gives the lock back
}

}  // namespace vantage
