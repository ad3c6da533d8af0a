#include "runtime/inspect/head_pattern.h"

#include <array>

#include "runtime/base/at.h"
#include "runtime/base/format.h"

namespace vantage::internal {

namespace {

constexpr double half = 0.5, mostly_near = 0.6, nearly_uniform = 0.85;

constexpr std::array<PatternInfo, 12> patterns{{
    {HeadPattern::induction, "induction", "induction", "induct", "attends to what followed the same token before",
     "mass on what followed the same token before", half},
    {HeadPattern::duplicate_token, "duplicate-token", "duplicate token", "dup",
     "attends to earlier copies of the same token", "mass on earlier copies of the token", half},
    {HeadPattern::previous_token, "previous-token", "previous token", "prev", "attends to the previous token",
     "mass on the previous token", half},
    {HeadPattern::next_token, "next-token", "next token", "next", "attends to the next token", "mass on the next token",
     half},
    {HeadPattern::attention_sink, "attention-sink", "attention sink", "sink", "rests on the first token",
     "mass on the first token", half},
    {HeadPattern::self, "self", "self", "self", "attends to the current token", "mass on the current token", half},
    {HeadPattern::separator, "separator", "separator", "sep", "rests on punctuation or special tokens",
     "mass on separators", half},
    {HeadPattern::broadcast, "broadcast", "broadcast", "broadcast", "attends to one token from everywhere",
     "mass on one token", half},
    {HeadPattern::uniform, "uniform", "uniform", "uniform", "spreads over all tokens",
     "entropy relative to a uniform row", nearly_uniform},
    {HeadPattern::local, "local", "local", "local", "attends to nearby tokens", "mass within 3 tokens", mostly_near},
    {HeadPattern::semantic, "semantic", "semantic", "sem", "attends to tokens with similar embeddings",
     "correlation with the similarity of embeddings", half},
    {HeadPattern::mixed, "mixed", "mixed", "mixed", "none of these", "no rule holds", 0},
}};

/// " .93" and " 1".
std::string hundredths(double share) { return share >= 0.995 ? " 1" : format(" .{:02.0f}", 100 * share); }

}  // namespace

std::string PatternInfo::condition() const {
    return kind == HeadPattern::mixed ? statistic : statistic + format(" ≥ {:.2f}", minimum);
}

std::span<const PatternInfo> head_patterns() { return patterns; }

const PatternInfo& info_of(HeadPattern::Kind kind) { return patterns[kind]; }

HeadPattern pattern_of(const HeadStatistics& head) {
    HeadPattern pattern;
    for (const auto& [kind, share] : {std::pair{HeadPattern::induction, head.induction},
                                      {HeadPattern::duplicate_token, head.duplicate},
                                      {HeadPattern::previous_token, head.previous},
                                      {HeadPattern::next_token, head.next},
                                      {HeadPattern::attention_sink, head.first},
                                      {HeadPattern::self, head.self}})
        if (share >= info_of(kind).minimum && share > pattern.share) pattern = {kind, share};
    if (pattern.kind != HeadPattern::mixed) return pattern;
    const double max_received = head.argmax_received < 0 ? 0 : at(head.received, head.argmax_received);
    for (const auto& [kind, share] : {std::pair{HeadPattern::separator, head.separators},
                                      {HeadPattern::broadcast, max_received},
                                      {HeadPattern::uniform, head.relative_entropy},
                                      {HeadPattern::local, head.near},
                                      {HeadPattern::semantic, head.similarity}})
        if (share >= info_of(kind).minimum) return {kind, share};  // NaN (not defined) fails every rule
    return pattern;
}

std::string HeadPattern::id() const { return info_of(kind).id; }

std::string HeadPattern::rule() const {
    const PatternInfo& info = info_of(kind);
    return kind == mixed ? info.statistic : info.statistic + format(" {:.2f} ≥ {:.2f}", share, info.minimum);
}

std::string HeadPattern::text() const {
    if (kind == mixed) return "mixed pattern";
    const std::string sentence = info_of(kind).definition;
    return kind == uniform ? sentence : sentence + format(" ({:.2f})", share);
}

std::string HeadPattern::label() const { return kind == mixed ? id() : id() + hundredths(share); }

std::string HeadPattern::short_label() const {
    const std::string word = info_of(kind).column;
    return kind == mixed || kind == uniform ? word : word + hundredths(share);
}

}  // namespace vantage::internal
