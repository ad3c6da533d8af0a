#include "runtime/inspect/head_pattern.h"

#include <array>
#include <cmath>

#include "runtime/base/log.h"

namespace vantage {

namespace {

constexpr double half = 0.5, mostly_near = 0.6, nearly_uniform = 0.85;

struct Words {
    const char *name, *sentence, *note, *measure;
    double least;  ///< of the measure
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

HeadHabit habit_of(const HeadStatistics& head) {
    HeadHabit habit;
    for (const auto& [kind, share] : {std::pair{HeadHabit::induction, head.induction},
                                      {HeadHabit::duplicate, head.duplicate},
                                      {HeadHabit::previous, head.previous},
                                      {HeadHabit::next, head.next},
                                      {HeadHabit::first, head.first},
                                      {HeadHabit::self, head.self}})
        if (share >= half && share > habit.share) habit.kind = kind, habit.share = share;
    if (habit.kind != HeadHabit::mixed) return habit;
    const double most = head.most_received < 0 ? 0 : head.received[static_cast<std::size_t>(head.most_received)];
    for (const auto& [kind, share] : {std::pair{HeadHabit::broadcast, most},
                                      {HeadHabit::spread, head.relative_entropy},
                                      {HeadHabit::local, head.near}})
        if (share >= descriptions[kind].least) return {kind, share};
    return habit;
}

std::string HeadHabit::name() const { return descriptions[kind].name; }

std::string HeadHabit::rule() const {
    if (kind == mixed) return descriptions[kind].measure;
    return descriptions[kind].measure + format(" %.2f ≥ %.2f", share, descriptions[kind].least);
}

std::string HeadHabit::condition() const {
    return kind == mixed ? descriptions[kind].measure
                         : descriptions[kind].measure + format(" ≥ %.2f", descriptions[kind].least);
}

std::string HeadHabit::text() const {
    const std::string sentence = descriptions[kind].sentence;
    return kind == mixed || kind == spread ? sentence : sentence + format(" (%.2f)", share);
}

std::string HeadHabit::label() const { return kind == mixed ? name() : name() + hundredths(share); }

std::string HeadHabit::note() const {
    const std::string word = descriptions[kind].note;
    return kind == mixed || kind == spread ? word : word + hundredths(share);
}

}  // namespace vantage
