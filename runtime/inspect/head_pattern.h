// The pattern of a head: what it mostly attends to, in one word, and the rule that decides.
// One table defines the patterns for `heads`, `inspect`, `demo` and the viewer; docs/reading-attention.md repeats it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/inspect/head_statistics.h"

namespace vantage::internal {

/// The first rule that holds decides:
///   1. The largest of six masses, if it is at least 0.5: induction, duplicate-token (means over the queries that
///      repeat a token), previous-token, next-token, attention-sink, self.
///   2. separator: half of the attention is on separators.
///   3. broadcast: one token other than the first gets half of the attention of the queries that see it, and at least
///      half of all queries see it.
///   4. uniform: the entropy is 0.85 of that of a uniform row.
///   5. local: 0.6 of the attention is within 3 tokens.
///   6. semantic: the weights have a correlation of 0.5 with the similarity of the embeddings.
///   7. mixed: none of these.
struct HeadPattern {
    enum Kind : std::uint8_t {
        induction,
        duplicate_token,
        previous_token,
        next_token,
        attention_sink,
        self,
        separator,
        broadcast,
        uniform,
        local,
        semantic,
        mixed
    };
    Kind kind = mixed;
    /// Value of the statistic that decided: a mass, for `uniform` the relative entropy, for `semantic` a correlation. 0
    /// for `mixed`.
    double share = 0;

    /// "previous-token": the id, in JSON, CSV and tables.
    std::string id() const;
    /// "mass on the previous token 0.99 ≥ 0.50": the comparison that decided.
    std::string rule() const;
    /// "attends to the previous token (0.99)".
    std::string text() const;
    /// "previous-token .99".
    std::string label() const;
    /// "prev .99": for narrow places, such as below a thumbnail.
    std::string short_label() const;
};

/// The words of a pattern.
struct PatternInfo {
    HeadPattern::Kind kind;
    const char* id;          ///< "attention-sink": in JSON, CSV, tables and options
    const char* name;        ///< "attention sink": in running text
    const char* column;      ///< "sink": heading of a narrow column
    const char* definition;  ///< "rests on the first token": what the head does
    const char* statistic;   ///< "mass on the first token": what decides
    double minimum;          ///< of the statistic; 0 for `mixed`
    /// "mass on the first token ≥ 0.50".
    std::string condition() const;
};

/// All patterns, ordered by kind.
std::span<const PatternInfo> head_patterns();
const PatternInfo& info_of(HeadPattern::Kind kind);

HeadPattern pattern_of(const HeadStatistics& head);

}  // namespace vantage::internal
