// The only POSIX calls: files mapped, files replaced whole, terminals, Ctrl-C.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
/// A file that comes in pieces: beside its target, which it replaces when it is finished, so that a reader never sees half of it;
/// removed when it is not. Pipes and devices are written in place. All throw bad_file.
class FileWriter {
public:
    explicit FileWriter(const std::string& path);
    ~FileWriter();
    FileWriter(const FileWriter&) = delete;
    FileWriter& operator=(const FileWriter&) = delete;
    void write(std::span<const std::byte> bytes);
    void write(const std::string& text);
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The same at once.
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, const std::string& text);
/// Throws bad_file where write_file would: for results that take long to come.
void require_writable(const std::string& path);

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

/// A folder of its own among the system's temporary ones; gone with the object. Throws bad_file.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// What a program that was run has left: its exit code (128 + the signal that ended it), what it wrote to stdout, and the seconds
/// until the first of that came.
struct Finished {
    int code = 0;
    std::string out;
    double first_output_seconds = 0;
};
/// Runs a program to its end. `environment` is added to ours; stdin is empty, stderr is ours. Throws failure when it cannot be
/// started.
Finished run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

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
