// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/format.h"

namespace vantage::internal {

/// "17 B", "1.5 KiB", "512.0 MiB", "7.98 GiB": binary units, about three digits.
inline std::string bytes_text(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes < 1024u) return format("{} B", bytes);
    if (bytes < (1ull << 20)) return format("{:.1f} KiB", value / 0x1p10);
    if (bytes < (1ull << 30)) return format("{:.1f} MiB", value / 0x1p20);
    return format("{:.2f} GiB", value / 0x1p30);
}

}  // namespace vantage::internal
