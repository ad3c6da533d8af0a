#include "runtime/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/posix.h"

namespace vantage::internal {
namespace {

using posix::Descriptor;
using posix::open_file;
using posix::quoted;
using posix::throw_file_error;

/// The path of a temporary file, which the destructor deletes unless `keep` was called.
class TemporaryFile : NotCopied {
public:
    explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
    ~TemporaryFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    const char* path() const { return path_.c_str(); }
    void keep() { path_.clear(); }

private:
    EndDeferred end_;
    std::string path_;
};

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

/// Opens a file without a name in the folder of `target`: it vanishes with the process, however that ends. -1 where the
/// system has none, or none that can get a name.
int open_unnamed(const std::string& target) {
    if (::access("/proc/self/fd", X_OK) != 0) return -1;
    return open_file(folder_of(target).c_str(), O_WRONLY | O_TMPFILE, 0666);
}

/// Gives it a name. 0, or the error.
int link_unnamed(int fd, const char* path) {
    const std::string self = format("/proc/self/fd/{}", fd);
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/// The path as it will be named once the folders that this process has not finished (FolderWriter) are.
std::string finished_name(const std::string& path) {
    std::filesystem::path named;
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
        const std::string name = part.string();
        named /= maker_of(name) == ::getpid() ? name.substr(0, name.rfind(".tmp-")) : name;
    }
    return named.string();
}

/// Creates and opens the temporary file for a file at `path`.
int open_new(TemporaryFile& temporary, const std::string& path) {
    const int fd = open_file(temporary.path(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0) return fd;
    const int error = errno;
    if (error == EEXIST) temporary.keep();  // made by someone else
    throw_file_error("cannot write", finished_name(path), error);
}

/// The status of the file that a file at `path` would replace. Zeros when there is none; throws for a folder.
struct stat status_of_target(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    if (S_ISDIR(status.st_mode)) throw_file_error("cannot write", path, EISDIR);
    return status;
}

/// The file that is written for `path`: the target of a symbolic link, so that the link remains.
std::string without_links(const std::string& path) {
    std::error_code error;
    auto real = std::filesystem::canonical(path, error);
    if (!error) return real.string();
    constexpr int most_links = 40;
    real = path;
    for (int links = 0; std::filesystem::is_symlink(real, error); ++links) {  // to where there is no file yet
        if (links == most_links) throw_file_error("cannot write", path, ELOOP);
        real = real.parent_path() / std::filesystem::read_symlink(real, error);
    }
    return real.string();
}

/// Makes the rename survive a power failure. Not every file system can do that, so failing is not an error.
void sync_directory(const std::string& path) {
    const Descriptor directory(open_file(path.c_str(), O_RDONLY | O_DIRECTORY));
    if (directory.get() >= 0) static_cast<void>(::fsync(directory.get()));
}

/// A name in the directory of `target` that no other thread or process uses.
std::string temporary_name(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    return target + format(".tmp-{}-{}", ::getpid(), counter.fetch_add(1));
}

/// Canonical paths: numbers of files are used again.
struct ReadFiles {
    std::atomic<bool> remembered{false};
    std::mutex mutex;
    std::set<std::string> paths;
};
ReadFiles& read_files() {
    static ReadFiles files;
    return files;
}

bool is_read(const std::string& path) {
    ReadFiles& files = read_files();
    if (!files.remembered) return false;
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (error) return false;
    const std::lock_guard lock(files.mutex);
    if (files.paths.contains(real)) return true;
    return std::filesystem::hard_link_count(real, error) > 1 && std::ranges::any_of(files.paths, [&](const auto& one) {
               return std::filesystem::equivalent(one, real, error);
           });
}
void require_not_read(const std::string& path) {
    if (is_read(path)) throw usage_error("{} is read by this command: write to another file", path);
}

/// Deletes temporary files of processes that are gone. Not new ones: they may be another machine's.
void remove_stale_temporaries(const std::filesystem::path& folder, const std::string& target) {
    std::error_code error;
    std::vector<std::filesystem::path> stale;  // deleted afterwards: the iterator reads the folder
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const pid_t process = maker_of(at->path().filename().string(), target);
        if (process == 0 || ::kill(process, 0) == 0 || errno != ESRCH) continue;
        const auto written = std::filesystem::last_write_time(at->path(), error);
        if (!error && written < std::filesystem::file_time_type::clock::now() - std::chrono::hours(1))
            stale.push_back(at->path());
    }
    for (const std::filesystem::path& path : stale) std::filesystem::remove(path, error);
}

}  // namespace

void remember_read_files() {
    read_files().remembered = true;
    const char* const in = "/dev/stdin";
    std::error_code error;
    if (std::filesystem::is_regular_file(in, error)) note_read_file(in);
}

void note_read_file(const std::string& path) {
    ReadFiles& files = read_files();
    if (!files.remembered) return;
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    const std::lock_guard lock(files.mutex);
    if (!error) files.paths.insert(real);
}

int maker_of(std::string_view name, std::string_view target) {
    static constexpr std::string_view mark = ".tmp-";
    const std::size_t found = target.empty() ? name.rfind(mark) : target.size();
    if (found == name.npos || found == 0 || !name.starts_with(target) || !name.substr(found).starts_with(mark))
        return 0;
    const std::string_view numbers = name.substr(found + mark.size());
    const auto* const end = numbers.data() + numbers.size();
    pid_t process = 0;
    unsigned counter = 0;
    const auto first = std::from_chars(numbers.data(), end, process);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return 0;
    const auto second = std::from_chars(first.ptr + 1, end, counter);
    return second.ec == std::errc() && second.ptr == end && process > 0 ? process : 0;
}

// A model may have thousands of files: only some stay open, the others are opened for each read.
struct ByteSource::File : NotCopied {
    std::string path;
    dev_t device = 0;
    ino_t number = 0;
    std::optional<Descriptor> kept;
    static inline std::atomic<int> kept_count{0};
    static constexpr int max_kept = 64;

    ~File() {
        if (kept) --kept_count;
    }
    /// Opens it again. Throws bad_file if it is another file now.
    int opened() const {
        Descriptor file(open_file(path.c_str(), O_RDONLY));
        struct stat status {};
        if (file.get() < 0 || ::fstat(file.get(), &status) != 0) throw_file_error("cannot read", path, errno);
        if (status.st_dev != device || status.st_ino != number)
            throw bad_file_error("cannot read " + quoted(path) + ": it was replaced while it was read");
        return file.release();
    }
};

ByteSource::ByteSource(const std::string& path) {
    const auto file = std::make_shared<File>();
    const int fd = file->kept.emplace(open_file(path.c_str(), O_RDONLY)).get();
    ++File::kept_count;
    if (fd < 0) throw_file_error("cannot open", path, errno);
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw_file_error("cannot open", path, errno);
    if (S_ISDIR(status.st_mode)) throw_file_error("cannot open", path, EISDIR);
    if (!S_ISREG(status.st_mode))
        throw bad_file_error("cannot read " + quoted(path) + ": it is a pipe or device, not a regular file");
    note_read_file(path);
    file->path = path, file->device = status.st_dev, file->number = status.st_ino;
    if (File::kept_count > File::max_kept) {
        file->kept.reset();
        --File::kept_count;
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    file_ = file;
}

ByteSource::ByteSource(std::span<const std::byte> memory) : memory_(memory.data()), size_(memory.size()) {}

ByteSource::ByteSource(std::uint64_t size, Make make)
    : make_(std::make_shared<const Make>(std::move(make))), size_(size) {}

ByteSource ByteSource::part(std::uint64_t first, std::uint64_t count) const {
    ByteSource some = *this;
    some.size_ = count;
    some.begin_ += first;
    return some;
}

void ByteSource::read(std::uint64_t first, std::span<std::byte> to) const {
    if (make_) return (*make_)(begin_ + first, to);
    if (!file_) {
        if (!to.empty()) std::memcpy(to.data(), memory_ + begin_ + first, to.size());
        return;
    }
    const Descriptor again(file_->kept ? -1 : file_->opened());
    const int fd = file_->kept ? file_->kept->get() : again.get();
    const auto fail = [this](int error) { throw_file_error("cannot read", file_->path, error); };
    for (std::size_t done = 0; done < to.size();) {
        const ssize_t count =
            ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(begin_ + first + done));
        if (count == 0)
            throw bad_file_error("cannot read " + quoted(file_->path) + ": it became shorter while it was read");
        if (count < 0 && (errno != EINTR || interrupted())) fail(errno);
        if (count > 0) done += static_cast<std::size_t>(count);
    }
}

std::vector<std::byte> ByteSource::all() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_));
    read(0, bytes);
    return bytes;
}

std::string read_file(const std::string& path, std::size_t limit) {
    const Descriptor file(open_file(path.c_str(), O_RDONLY));
    if (file.get() < 0) throw_file_error("cannot read", path, errno);
    struct stat status {};
    const bool regular = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (regular) note_read_file(path);
    std::string text;
    const bool known_too_large = regular && static_cast<std::uint64_t>(status.st_size) > limit;
    if (!known_too_large) {
        if (const int error = posix::read_all(file.get(), limit, text); error != 0) {
            throw_if_interrupted();
            throw_file_error("cannot read", path, error);
        }
        if (text.size() <= limit) return text;
    }
    const std::string found = known_too_large ? std::to_string(status.st_size) : "more than " + std::to_string(limit);
    throw bad_file_error("cannot read " + quoted(path) + ": it has " + found + " bytes, at most " +
                         std::to_string(limit) + " are allowed here (is it the right file?)");
}

struct FileWriter::State {
    std::string path, target;  // without a target the file is written directly
    Replaces replaces = Replaces::unread;
    mode_t mode = 0;  // of the file that is replaced; 0: there is none, and the umask decides
    std::optional<TemporaryFile> temporary;
    std::optional<Descriptor> file;

    [[noreturn]] void fail(int error) const {
        throw_if_interrupted();
        throw_file_error("cannot write", finished_name(path), error);
    }
    /// Opens a pipe or device (/dev/null, /dev/stdout), which must not be replaced. False for other paths.
    bool opened_directly() {
        const struct stat status = status_of_target(path);
        if (status.st_mode == 0) return false;
        if (replaces == Replaces::unread) require_not_read(path);
        mode = status.st_mode & 07777;
        // a rename would replace a file that is protected
        if (::access(path.c_str(), W_OK) != 0) fail(errno);
        if (S_ISREG(status.st_mode)) return false;
        file.emplace(open_file(path.c_str(), O_WRONLY));
        if (file->get() < 0) fail(errno);
        return true;
    }
};

FileWriter::FileWriter(const std::string& path, Replaces replaces) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.path = path, s.replaces = replaces;
    if (s.opened_directly()) return;
    s.target = without_links(path);
    if (const int fd = open_unnamed(s.target); fd >= 0) {
        s.file.emplace(fd);
        return;
    }
    s.temporary.emplace(temporary_name(s.target));
    s.file.emplace(open_new(*s.temporary, path));
}

FileWriter::~FileWriter() = default;

void FileWriter::write(std::span<const std::byte> bytes) {
    if (const int error = posix::write_all(state_->file->get(), bytes); error != 0) state_->fail(error);
}

void FileWriter::write(const std::string& text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void FileWriter::finish() {
    State& s = *state_;
    const bool replaces = !s.target.empty();
    int error = 0;
    const auto step = [&](auto action) {
        if (replaces && error == 0) error = action();
    };
    step([&] { return s.mode != 0 && ::fchmod(s.file->get(), s.mode) != 0 ? errno : 0; });
    step([&] { return posix::sync(s.file->get()); });
    step([&] {
        if (s.temporary) return 0;
        s.temporary.emplace(temporary_name(s.target));
        const int failed = link_unnamed(s.file->get(), s.temporary->path());
        if (failed != 0) s.temporary->keep();  // it is not ours
        return failed;
    });
    if (const int closing = s.file->close(); error == 0) error = closing;
    step([&] { return ::rename(s.temporary->path(), s.target.c_str()) != 0 ? errno : 0; });
    if (error != 0) s.fail(error);
    if (!replaces) return;
    s.temporary->keep();
    sync_directory(folder_of(s.target));
}

void write_file(const std::string& path, std::span<const std::byte> bytes, Replaces replaces) {
    FileWriter file(path, replaces);
    file.write(bytes);
    file.finish();
}

void write_file(const std::string& path, const std::string& text, Replaces replaces) {
    write_file(path, std::as_bytes(std::span(text.data(), text.size())), replaces);
}

void require_writable(const std::string& path) {
    require_not_read(path);
    if (const mode_t mode = status_of_target(path).st_mode; mode != 0 && !S_ISREG(mode)) return;  // written directly
    TemporaryFile temporary(temporary_name(without_links(path)));
    const Descriptor file(open_new(temporary, path));
}

void require_writable_folder(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path there = fs::absolute(fs::path(path) / ".").parent_path();
    while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
    if (!fs::is_directory(there, error)) throw_file_error("cannot create the folder", path, ENOTDIR);
    require_writable((there / "file").string());
}

void write_link(const std::string& path, const std::string& target) {
    const EndDeferred end;
    const std::string temporary = temporary_name(path);
    ::unlink(temporary.c_str());  // of a process that was killed
    if (::symlink(target.c_str(), temporary.c_str()) != 0) throw_file_error("cannot make the link", path, errno);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(temporary.c_str());
        throw_file_error("cannot make the link", path, error);
    }
    sync_directory(folder_of(path));
}

void require_new_folder(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) return;
    if (!error && std::filesystem::is_directory(status) && std::filesystem::is_empty(path, error) && !error) return;
    throw bad_file_error("cannot write " + quoted(path) + ": it exists, wanted a new or empty folder");
}

namespace {

struct ExistingWriters {
    std::mutex mutex;
    FolderWriter* first = nullptr;
};
ExistingWriters& existing_writers() {
    static ExistingWriters all;
    return all;
}

/// Deletes a folder that has no subfolders, without allocating memory through operator new.
void remove_flat_folder(const char* path) noexcept {
    if (DIR* folder = ::opendir(path)) {
        while (const dirent* entry = ::readdir(folder)) ::unlinkat(::dirfd(folder), entry->d_name, 0);
        ::closedir(folder);
    }
    ::rmdir(path);
}

}  // namespace

FolderWriter::FolderWriter(const std::string& path)
    : path_(std::filesystem::path(without_links(path) + "/").parent_path().string()),
      temporary_(temporary_name(path_)) {
    require_new_folder(path);
    const EndDeferred until_it_is_listed;
    std::error_code error;
    std::filesystem::create_directories(folder_of(path_), error);
    if (!error) std::filesystem::create_directory(temporary_, error);
    if (error) throw_file_error("cannot create the folder", path, error.value());
    const std::lock_guard lock(existing_writers().mutex);
    next_ = std::exchange(existing_writers().first, this);
}

FolderWriter::FolderWriter(const std::string& path, std::span<const char* const> files)
    : temporary_(path), files_(files) {
    const std::lock_guard lock(existing_writers().mutex);
    next_ = std::exchange(existing_writers().first, this);
}

void FolderWriter::remove() const noexcept {
    if (files_.empty()) return remove_flat_folder(temporary_.c_str());
    if (const int folder = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
        for (const char* name : files_) ::unlinkat(folder, name, 0);
        ::close(folder);
    }
    ::rmdir(temporary_.c_str());
}

FolderWriter::~FolderWriter() {
    if (!temporary_.empty()) remove();
    const std::lock_guard lock(existing_writers().mutex);
    FolderWriter** at = &existing_writers().first;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
}

void FolderWriter::remove_unfinished() noexcept {
    const std::unique_lock lock(existing_writers().mutex, std::try_to_lock);
    if (!lock) return;
    for (const FolderWriter* one = existing_writers().first; one != nullptr; one = one->next_)
        for (int tries = 0; tries < 10 && !one->temporary_.empty(); ++tries) {  // other threads may still write into it
            one->remove();
            if (!one->files_.empty() || ::access(one->temporary_.c_str(), F_OK) != 0) break;
        }
}

void FolderWriter::finish() {
    const EndDeferred end;
    if (path_.empty()) {  // it has its name
        const std::lock_guard lock(existing_writers().mutex);
        temporary_.clear();
        return;
    }
    sync_directory(temporary_);
    {
        const std::lock_guard lock(existing_writers().mutex);  // remove_unfinished must not meet a finished folder
        if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_file_error("cannot write", path_, errno);
        temporary_.clear();
    }
    sync_directory(folder_of(path_));
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) note_read_file(entry.path().string());
}

namespace {

/// Whether the open file still has this name: the last holder of a lock deletes its file.
bool is_at(int fd, const std::string& path) {
    struct stat open {
    }, there{};
    return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
           open.st_ino == there.st_ino;
}

}  // namespace

FileLock::FileLock(const std::string& path, Sweep sweep) : path_(path) {
    const std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (std::error_code error; !directory.empty() && !std::filesystem::create_directories(directory, error) && error)
        throw_file_error("cannot create the directory", directory.string(), error.value());
    const std::string target = std::filesystem::path(path).stem().string();
    if (sweep != Sweep::nothing)
        remove_stale_temporaries(directory.empty() ? "." : directory, sweep == Sweep::folder ? "" : target);
    // A limit, because a process that was stopped while it held the lock must not block all others.
    constexpr std::chrono::milliseconds limit(2000), pause(10);
    for (auto waited = std::chrono::milliseconds(0); waited < limit && !interrupted(); waited += pause) {
        if (fd_ < 0) fd_ = open_file(path.c_str(), O_RDWR | O_CREAT, 0666);
        if (fd_ < 0) throw_file_error("cannot lock", path, errno);
        if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
            if (is_at(fd_, path)) return;
            ::close(std::exchange(fd_, -1));
            errno = EWOULDBLOCK;
            continue;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) break;
        std::this_thread::sleep_for(pause);
    }
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);  // no destructor runs after a throwing constructor
    throw_if_interrupted();
    if (error == EWOULDBLOCK) throw bad_file_error("cannot lock {}: another process has locked it", quoted(path));
    throw_file_error("cannot lock", path, error);
}

FileLock::~FileLock() {
    struct stat held {};
    const bool is_ours = ::fstat(fd_, &held) == 0 && held.st_size == 0;  // else it is a file of the user
    if (is_ours) ::unlink(path_.c_str());  // before the lock is released: then it may be another's
    ::close(fd_);
}

TemporaryFolder::TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "vantage-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw_file_error("cannot create the folder", path_, errno);
}
TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace vantage::internal
