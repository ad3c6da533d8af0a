#include "runtime/inspect/head_pattern.h"

#include <array>
#include <cmath>

#include "runtime/base/log.h"

namespace vantage {

namespace {

constexpr double half = 0.5, mostly_near = 0.6, nearly_uniform = 0.85;

struct Words {
    const char *name, *sentence, *note, *measure;
    double threshold;  ///< of the measure
};
/// By kind.
constexpr std::array<Words, 10> descriptions{
    {{"mixed", "reads here and there", "mixed", "no rule holds", 0},
     {"diffuse", "spreads over all", "spread", "share of a uniform row's entropy", nearly_uniform},
     {"sink", "rests on the first token", "first", "mass on the first token", half},
     {"previous", "reads the token before", "before", "mass on the token before", half},
     {"self", "reads itself", "self", "mass on itself", half},
     {"induction", "reads what came next last time", "induction", "mass on what came next last time", half},
     {"duplicate", "reads the same token before", "same", "mass on the same token before", half},
     {"next", "reads the token behind", "behind", "mass on the token behind", half},
     {"broadcast", "reads one token from everywhere", "one", "mass on one token", half},
     {"local", "reads nearby", "near", "mass within 3 tokens", mostly_near}}};

/// " .93" and " 1".
std::string hundredths(double share) { return share >= 0.995 ? " 1" : format(" .%02.0f", 100 * share); }

}  // namespace

HeadPattern pattern_of(const HeadStatistics& head) {
    HeadPattern pattern;
    for (const auto& [kind, share] : {std::pair{HeadPattern::induction, head.induction},
                                      {HeadPattern::duplicate, head.duplicate},
                                      {HeadPattern::previous, head.previous},
                                      {HeadPattern::next, head.next},
                                      {HeadPattern::first, head.first},
                                      {HeadPattern::self, head.self}})
        if (share >= half && share > pattern.share) pattern.kind = kind, pattern.share = share;
    if (pattern.kind != HeadPattern::mixed) return pattern;
    const double top_share =
        head.argmax_received < 0 ? 0 : head.received[static_cast<std::size_t>(head.argmax_received)];
    for (const auto& [kind, share] : {std::pair{HeadPattern::broadcast, top_share},
                                      {HeadPattern::spread, head.relative_entropy},
                                      {HeadPattern::local, head.near}})
        if (share >= descriptions[kind].threshold) return {kind, share};
    return pattern;
}

std::string HeadPattern::name() const { return descriptions[kind].name; }

std::string HeadPattern::rule() const {
    if (kind == mixed) return descriptions[kind].measure;
    return descriptions[kind].measure + format(" %.2f ≥ %.2f", share, descriptions[kind].threshold);
}

std::string HeadPattern::condition() const {
    return kind == mixed ? descriptions[kind].measure
                         : descriptions[kind].measure + format(" ≥ %.2f", descriptions[kind].threshold);
}

std::string HeadPattern::text() const {
    const std::string sentence = descriptions[kind].sentence;
    return kind == mixed || kind == spread ? sentence : sentence + format(" (%.2f)", share);
}

std::string HeadPattern::label() const { return kind == mixed ? name() : name() + hundredths(share); }

std::string HeadPattern::note() const {
    const std::string word = descriptions[kind].note;
    return kind == mixed || kind == spread ? word : word + hundredths(share);
}

}  // namespace vantage
