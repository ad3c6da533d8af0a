// What a head mostly does, in a word: for labels.
#pragma once

#include <string>

#include "runtime/inspect/head_statistics.h"

namespace vantage {

struct HeadHabit {
    enum Kind : std::uint8_t { mixed, spread, first, previous, self, induction, duplicate } kind = mixed;
    double share = 0;          ///< of the attention that the habit explains; of `spread` the relative entropy
    std::string text() const;  ///< "reads the token before (0.99)"
    std::string note() const;  ///< "before .99", to stand below a small map
};

/// The largest of the head's masses where it is half of the attention at least; else `spread` where the head is close to
/// uniform, else `mixed`.
HeadHabit habit_of(const HeadStatistics& head);

}  // namespace vantage
