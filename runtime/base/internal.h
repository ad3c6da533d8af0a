// Public declarations (include/vantage) are in namespace vantage. Internal ones are in vantage::internal, or in the
// namespace of their folder: gpu, text, view, cli. Internal code uses both without a prefix.
#pragma once

namespace vantage::internal {

/// Base of a class whose objects are neither copied nor moved.
struct NotCopied {
    NotCopied() = default;
    NotCopied(const NotCopied&) = delete;
    NotCopied& operator=(const NotCopied&) = delete;
};

}  // namespace vantage::internal

namespace vantage {
using namespace internal;
}
