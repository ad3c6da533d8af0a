// Writes animated PNG files.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/files.h"
#include "runtime/picture/png.h"

namespace vantage::internal {

/// Writes an endless animation of `count` pictures of `seconds_each`. Programs without APNG support show the first
/// picture. Pictures are compressed and written at once, none is kept. Throws usage for 0 pictures, another number than
/// `count`, or different sizes; bad_file.
/// Source: https://wiki.mozilla.org/APNG_Specification
class ApngWriter {
public:
    ApngWriter(const std::string& path, std::int64_t count, double seconds_each);
    /// The texts of the first picture are those of the file.
    void add(const Image& picture, const PngTexts& texts = {});
    /// Completes the file. Without it, no file is written.
    void finish();

private:
    std::string control();
    void begin(const std::string& png);
    FileWriter file_;
    std::int64_t count_, added_ = 0;
    static constexpr std::uint32_t delay_unit = 6000;  // of a second: whole for 1 to 60 pictures a second that are used
    std::uint32_t delay_, sequence_ = 0, width_ = 0, height_ = 0;
};

}  // namespace vantage::internal
