// Long texts for tests.
#pragma once

#include <string>

namespace vantage::test {

inline std::string repeated(int count, const std::string& piece) {
    std::string all;
    for (int i = 0; i < count; ++i) all += piece;
    return all;
}

}  // namespace vantage::test
