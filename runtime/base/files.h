// Files: mapped, read whole, replaced whole, and locked. All functions throw bad_file with the path and the reason.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// A file that is mapped read-only.
class MappedFile : NotCopied {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }
    /// Tells the system that these bytes are not needed again soon, such as weights that were uploaded.
    void release(std::size_t offset, std::size_t size) const;

private:
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// The contents of a file of at most `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

/// Writes a file in pieces. The pieces go to a temporary file in the same directory, which `finish` moves to `path`, so
/// that a reader never sees an incomplete file. Without `finish` it is deleted. Pipes and devices are written directly.
class FileWriter : NotCopied {
public:
    explicit FileWriter(const std::string& path);
    ~FileWriter();
    void write(std::span<const std::byte> bytes);
    void write(const std::string& text);
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Writes a whole file, like FileWriter.
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, const std::string& text);
/// Throws if write_file would: call it before a long computation whose result goes to `path`.
void require_writable(const std::string& path);

/// An exclusive lock on `path` between processes, held while the object exists. It protects the caches on disk.
/// The file is created when it is missing, with its directories. Throws bad_file when it cannot be created, or when
/// another process holds the lock for more than 2 seconds.
class FileLock : NotCopied {
public:
    explicit FileLock(const std::string& path);
    ~FileLock();

private:
    int fd_;
};

/// A new folder among the system's temporary ones, deleted by the destructor.
class TemporaryFolder : NotCopied {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace vantage::internal
