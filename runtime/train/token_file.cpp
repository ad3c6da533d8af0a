#include "runtime/train/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"

namespace vantage::internal {

namespace {

struct TokenFooter {
    std::array<char, 8> magic;
    std::uint32_t width, zero;
    std::uint64_t tokens, documents, checksum, targets;
};
static_assert(sizeof(TokenFooter) == 48);
constexpr std::array<char, 8> token_magic{'V', 'A', 'N', 'T', 'T', 'O', 'K', '1'};
constexpr std::uint16_t short_flag = 0x8000;
constexpr std::int64_t short_vocabulary = 0x8000;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

Error damaged(const std::string& path, const char* why) { return bad_file_error("{}: {}", path, why); }

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, std::int64_t vocabulary)
    : file_(path, Replaces::own), width_(vocabulary <= short_vocabulary ? 2 : 4) {}

void TokenWriter::add(std::span<const std::int32_t> ids) {
    tokens_ += ids.size(), checksum_ = checksum(std::as_bytes(ids), checksum_);
    targets_ += static_cast<std::uint64_t>(std::ranges::count_if(ids, is_target));
    if (width_ == 4) return file_.write(std::as_bytes(ids));
    std::vector<std::uint16_t> narrow(ids.size());
    std::ranges::transform(ids, narrow.begin(), [](std::int32_t id) {
        return static_cast<std::uint16_t>(id_of(id) | (is_target(id) ? 0 : short_flag));
    });
    file_.write(bytes_of(narrow));
}

void TokenWriter::end_document() {
    if (starts_.back() != tokens_) starts_.push_back(tokens_);
}

void TokenWriter::finish() {
    end_document();
    const std::uint64_t bytes = tokens_ * width_;
    file_.write(std::string(aligned(bytes) - bytes, '\0'));
    file_.write(bytes_of(starts_));
    const TokenFooter footer{token_magic, width_, 0, tokens_, documents(), checksum_, targets_};
    file_.write(std::as_bytes(std::span(&footer, 1)));
    file_.finish();
}

TokenFile::TokenFile(const std::string& path, std::int64_t vocabulary) : bytes_(path) {
    TokenFooter footer{};
    const auto fail = [&](const char* why) { throw damaged(path, why); };
    if (bytes_.size() < sizeof(footer)) fail("too short for a token file");
    bytes_.read(bytes_.size() - sizeof(footer), std::as_writable_bytes(std::span(&footer, 1)));
    if (footer.magic != token_magic || (footer.width != 2 && footer.width != 4) || footer.zero != 0)
        fail("not a token file");
    const std::uint64_t room = bytes_.size() - sizeof(footer);
    if (footer.tokens > room / footer.width || footer.documents >= room / 8 ||
        aligned(footer.tokens * footer.width) + (footer.documents + 1) * 8 != room || footer.targets > footer.tokens)
        fail("its size is not what it says");
    width_ = footer.width, checksum_ = footer.checksum, targets_ = footer.targets;
    starts_.resize(footer.documents + 1);
    bytes_.read(aligned(footer.tokens * width_), std::as_writable_bytes(std::span(starts_)));
    if (starts_.front() != 0 || starts_.back() != footer.tokens ||
        std::ranges::adjacent_find(starts_, std::greater_equal()) != starts_.end())
        fail("its documents do not follow one another");
    check_ids(path, vocabulary);
}

void TokenFile::check_ids(const std::string& path, std::int64_t vocabulary) const {
    constexpr std::uint64_t at_once = 1 << 20;
    std::vector<std::int32_t> ids;
    std::uint64_t sum = checksum_begin;
    for (std::uint64_t first = 0; first < tokens(); first += at_once) {
        throw_if_interrupted();
        ids.resize(std::min(at_once, tokens() - first));
        read(first, ids);
        sum = internal::checksum(std::as_bytes(std::span(ids)), sum);
        if (std::ranges::any_of(ids, [&](std::int32_t id) { return id_of(id) >= vocabulary; }))
            throw damaged(path, "an id is not in the vocabulary");
    }
    if (sum != checksum_) throw damaged(path, "the checksum of its ids is wrong");
}

void TokenFile::read(std::uint64_t first, std::span<std::int32_t> ids) const {
    if (width_ == 4) return bytes_.read(first * 4, std::as_writable_bytes(ids));
    std::vector<std::uint16_t> narrow(ids.size());
    bytes_.read(first * 2, std::as_writable_bytes(std::span(narrow)));
    std::ranges::transform(narrow, ids.begin(), [](std::uint16_t id) {
        return (id & ~short_flag) | ((id & short_flag) != 0 ? not_a_target : 0);
    });
}

}  // namespace vantage::internal
