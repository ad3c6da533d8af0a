// The only POSIX calls: files mapped, files replaced whole, terminals, Ctrl-C.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace vantage {

/// A file mapped read-only. Throws bad_file with the path and the reason.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }
    /// Tells the system that these bytes are not needed again soon (they were uploaded).
    void release(std::size_t offset, std::size_t size) const;

private:
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// A whole file; `limit` bytes at most, else bad_file.
std::string read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);
/// All of stdin, byte for byte.
std::string read_stdin();
/// The next line of stdin, without its end; nothing when there is none. Throws interrupted on Ctrl-C.
std::optional<std::string> read_line();
/// Writes beside the target, then renames: a reader never sees half a file. Throws bad_file.
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, const std::string& text);

bool is_terminal(int fd);
int terminal_columns(int fd);  ///< 80 when unknown

/// Ctrl-C sets a flag; work in progress asks `interrupted()` or calls `throw_if_interrupted()`. A second Ctrl-C ends the
/// process at once with 130.
void catch_interrupts();
bool interrupted();
void throw_if_interrupted();
/// Takes a Ctrl-C back: true when there was one, and work may go on. A SIGTERM stays.
bool take_interrupt();

/// Path of the running program, empty when unknown.
std::string program_path();

/// A clock that only goes forward, in seconds.
double seconds_now();

/// Process-wide lock on `path` (created when missing), held while the object lives; used for the on-disk caches.
class FileLock {
public:
    explicit FileLock(const std::string& path);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int fd_ = -1;
};

}  // namespace vantage
