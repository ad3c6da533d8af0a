// FNV-1a: detects accidents and names files, but is no protection against someone who makes collisions.
// Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm" (RFC 9923).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vantage::internal {

inline constexpr std::uint64_t checksum_begin = 0xcbf29ce484222325;

inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t hash = checksum_begin) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    return hash;
}
inline std::uint64_t checksum(std::string_view text, std::uint64_t hash = checksum_begin) {
    return checksum(std::as_bytes(std::span(text)), hash);
}

}  // namespace vantage::internal
