// Texts as tokens on disk: the ids of all documents, one after the other, and where each begins.
//
// Layout, little-endian: the ids, 2 bytes each or 4; padding to 8 bytes; the begin of each document and the number of
// all ids, u64; and 48 bytes: the magic "VANTTOK1", bytes per id u32, 0 u32, ids u64, documents u64, the checksum
// of the ids u64, targets u64. The numbers are at the end so that a file is written in one pass. The highest bit of an
// id says that a model does not learn to predict it, such as the words of a user.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/checksum.h"
#include "runtime/base/files.h"

namespace vantage::internal {

/// An id that a model does not learn to predict.
inline constexpr std::int32_t not_a_target = INT32_MIN;
inline bool is_target(std::int32_t id) { return id >= 0; }
inline std::int32_t id_of(std::int32_t flagged) { return flagged & INT32_MAX; }

class TokenWriter : NotCopied {
public:
    /// `vocabulary`: ids are below it. Nothing is at `path` before `finish`.
    TokenWriter(const std::string& path, std::int64_t vocabulary);
    /// Adds to the current document; ids may be flagged with not_a_target.
    void add(std::span<const std::int32_t> ids);
    void end_document();
    std::uint64_t documents() const { return starts_.size() - 1; }
    void finish();

private:
    FileWriter file_;
    unsigned width_;
    std::uint64_t checksum_ = checksum_begin, tokens_ = 0, targets_ = 0;
    std::vector<std::uint64_t> starts_{0};
};

class TokenFile {
public:
    /// Reads all of the file once. Throws bad_file where it is damaged, or where an id is not below `vocabulary`.
    TokenFile(const std::string& path, std::int64_t vocabulary);
    std::uint64_t tokens() const { return starts_.back(); }
    std::uint64_t documents() const { return starts_.size() - 1; }
    std::uint64_t targets() const { return targets_; }
    std::uint64_t checksum() const { return checksum_; }  ///< of all ids
    /// Where each document begins, ascending, and the number of all tokens.
    std::span<const std::uint64_t> starts() const { return starts_; }
    /// Ids from `first` on, flagged, as they are in the file. They must be in it.
    void read(std::uint64_t first, std::span<std::int32_t> ids) const;

private:
    void check_ids(const std::string& path, std::int64_t vocabulary) const;

    ByteSource bytes_;
    unsigned width_ = 0;
    std::uint64_t checksum_ = 0, targets_ = 0;
    std::vector<std::uint64_t> starts_;
};

}  // namespace vantage::internal
