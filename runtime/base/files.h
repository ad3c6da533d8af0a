// Files: read in parts or whole, replaced whole, and locked. All functions throw bad_file with the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/internal.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal {

/// Bytes of a file or of memory that are read when they are needed. Files are not mapped: one that shrinks while it is
/// read, or whose disk fails, is an error and no signal; so is one that was replaced meanwhile. Copies share the file.
/// Threads may read at the same time.
class ByteSource {
public:
    ByteSource() = default;
    /// All of a regular file.
    explicit ByteSource(const std::string& path);
    /// Memory that outlives this object.
    explicit ByteSource(std::span<const std::byte> memory);
    /// Bytes that a function makes of others: it fills its argument with those from `first` on.
    using Make = std::function<void(std::uint64_t first, std::span<std::byte> to)>;
    ByteSource(std::uint64_t size, Make make);

    std::uint64_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    /// Where it begins in its file.
    std::uint64_t begin() const { return begin_; }
    /// `count` bytes from `first` on. They must be in the source.
    ByteSource part(std::uint64_t first, std::uint64_t count) const;
    /// Fills `to` with the bytes from `first` on.
    void read(std::uint64_t first, std::span<std::byte> to) const;
    std::vector<std::byte> all() const;

private:
    struct File;
    std::shared_ptr<const File> file_;
    std::shared_ptr<const Make> make_;
    const std::byte* memory_ = nullptr;  ///< of its first byte, without a file
    std::uint64_t begin_ = 0, size_ = 0;
};

/// The contents of a file of at most `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

/// After this call the process remembers which files it reads (stdin is one), and does not write over them: a command
/// must not destroy what a user gave it. For programs; off in the library.
void remember_read_files();
/// Counts the file as one that is read.
void note_read_file(const std::string& path);
/// Which files a writer may replace: a file of the program's own, such as a cache, is read and written again.
enum class Replaces : std::uint8_t { unread, own };

/// Writes a file in pieces, to one without a name in the same directory (with one, where the system has none), which
/// `finish` moves to `path`: a reader never sees an incomplete file. Without `finish` it is deleted. Pipes and devices
/// are written directly. With Replaces::unread it throws usage for a file that is remembered as read.
class FileWriter : NotCopied {
public:
    explicit FileWriter(const std::string& path, Replaces replaces = Replaces::unread);
    ~FileWriter();
    void write(std::span<const std::byte> bytes);
    void write(const std::string& text);
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Writes a whole file, like FileWriter.
void write_file(const std::string& path, std::span<const std::byte> bytes, Replaces replaces = Replaces::unread);
void write_file(const std::string& path, const std::string& text, Replaces replaces = Replaces::unread);
/// Throws if write_file would: call it before a long computation whose result goes to `path`.
void require_writable(const std::string& path);

/// Throws if a folder with files could not be written at `path`.
void require_writable_folder(const std::string& path);

/// Writes a folder of files in one step: files go to a temporary folder beside `path`, and `finish` renames it. A
/// reader never sees a part of them. Without `finish` the temporary folder is deleted. Parent folders are created. The
/// files count as read (note_read_file).
class FolderWriter : NotCopied {
public:
    explicit FolderWriter(const std::string& path);
    /// A folder that is there, which is of no use before `finish`: without it these files are deleted (their names live
    /// longer), and the folder unless something else is in it.
    FolderWriter(const std::string& path, std::span<const char* const> files);
    ~FolderWriter();
    /// Where the file of this name is written.
    std::string file(const std::string& name) const { return temporary_ + "/" + name; }
    void finish();
    /// Deletes the temporary folders of all existing writers, without allocating memory: for the end of a program.
    static void remove_unfinished() noexcept;

private:
    void remove() const noexcept;
    std::string path_, temporary_;
    std::span<const char* const> files_;  ///< empty: all
    FolderWriter* next_ = nullptr;        ///< in the list of all existing writers
};
/// The process that made a file or folder of this name as a temporary one, of `target` or, without one, of anything;
/// 0: none did.
int maker_of(std::string_view name, std::string_view target = {});
/// Makes the symbolic link `path`, or lets it point to another target at once.
void write_link(const std::string& path, const std::string& target);
/// Throws unless there is nothing at `path`, or an empty folder.
void require_new_folder(const std::string& path);

/// An exclusive lock on `path` between processes, held while the object exists. It protects the caches on disk.
/// The file and its directories are created when they are missing; it is deleted with the lock, if it is empty. Throws
/// bad_file when it cannot be created, or when another process holds the lock for more than 2 seconds.
class FileLock : NotCopied {
public:
    /// Which temporary files in the lock's folder are deleted, if they are older than an hour and their process has
    /// ended. file: those of FILE, for the lock FILE.lock. folder: all; only for folders that no user writes to.
    enum class Sweep : std::uint8_t { nothing, file, folder };
    FileLock(const std::string& path, Sweep sweep);
    ~FileLock();

private:
    EndDeferred end_;
    std::string path_;
    int fd_ = -1;
};

/// A new folder among the system's temporary ones, deleted by the destructor.
class TemporaryFolder : NotCopied {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

private:
    EndDeferred end_;
    std::string path_;
};

}  // namespace vantage::internal
