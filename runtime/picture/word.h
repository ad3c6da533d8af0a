// An enumerator and the word for it in options and files. Tables of these are read in both directions.
#pragma once

namespace vantage {

template <class E>
struct Word {
    E value;
    const char* word;
};

}  // namespace vantage
