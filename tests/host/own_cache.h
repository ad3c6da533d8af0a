// The runtime's cache folder, for tests of what is kept there.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/base/options.h"
#include "temporary_directory.h"

namespace vantage::test {

/// A cache directory of its own while it lives.
class OwnCache {
public:
    OwnCache() { ::setenv("VANTAGE_CACHE_DIR", directory_.path().c_str(), 1); }
    ~OwnCache() { before_ ? ::setenv("VANTAGE_CACHE_DIR", before_->c_str(), 1) : ::unsetenv("VANTAGE_CACHE_DIR"); }

private:
    std::optional<std::string> before_ = environment("VANTAGE_CACHE_DIR");
    TemporaryDirectory directory_;
};

}  // namespace vantage::test
