// Animated PNG: pictures of one size one after the other, as browsers show them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/os.h"
#include "runtime/picture/png.h"

namespace vantage {

/// A file that shows `count` pictures for `seconds_each`, again and again; programs that know no animation show the first. Pictures are
/// compressed and written as they come: none is kept. Throws usage for no picture, another number of them, or different sizes; bad_file.
/// Source: https://wiki.mozilla.org/APNG_Specification
class ApngWriter {
public:
    ApngWriter(const std::string& path, std::int64_t count, double seconds_each);
    /// The first one's texts are the file's.
    void add(const Image& picture, const PngTexts& texts = {});
    /// Without it there is no file.
    void finish();

private:
    std::string control();
    void begin(const std::string& png);
    FileWriter file_;
    std::int64_t count_, added_ = 0;
    std::uint32_t milliseconds_, sequence_ = 0, width_ = 0, height_ = 0;
};

}  // namespace vantage
