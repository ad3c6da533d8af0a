// An enumerator and the word for it in options and files. Tables of these are read in both directions.
#pragma once

#include "runtime/base/internal.h"

namespace vantage::internal {

template <class E>
struct Word {
    E value;
    const char* word;
};

}  // namespace vantage::internal
