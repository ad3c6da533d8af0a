// The pattern of a head: what it mostly does, in a word, and the rule that says so.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/inspect/head_statistics.h"

namespace vantage {

/// The first rule that holds:
///   1. one of its masses is half of the attention at least, and the largest such:  induction, duplicate (means over the
///      queries that repeat a token), previous, next, first (a sink), self
///   2. broadcast: one other token gets half of the attention of those that see it, which are half of the queries at least
///   3. diffuse (`spread`): its entropy is 0.85 of that of uniform attention
///   4. local: 0.6 of the attention stays within 3 tokens
///   5. mixed: none of these
struct HeadPattern {
    enum Kind : std::uint8_t { mixed, spread, first, previous, self, induction, duplicate, next, broadcast, local };
    Kind kind = mixed;
    double share = 0;               ///< of the attention that the pattern explains; of `spread` the relative entropy
    std::string name() const;       ///< "previous": one word
    std::string rule() const;       ///< what decided it: "mass on the token before 0.99 ≥ 0.50"
    std::string condition() const;  ///< of the kind: "mass on the token before ≥ 0.50"
    std::string text() const;       ///< "reads the token before (0.99)"
    std::string label() const;      ///< "previous .99"
    std::string note() const;       ///< "before .99", to stand below a small map
};

HeadPattern pattern_of(const HeadStatistics& head);

}  // namespace vantage
