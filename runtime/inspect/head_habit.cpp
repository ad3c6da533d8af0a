#include "runtime/inspect/head_habit.h"

#include <array>
#include <cmath>

#include "runtime/base/log.h"

namespace vantage {

namespace {

constexpr double half = 0.5, nearly_uniform = 0.85;

struct Words {
    const char *sentence, *note;
};
Words words_of(HeadHabit::Kind kind) {
    switch (kind) {
        case HeadHabit::mixed: return {"reads here and there", "mixed"};
        case HeadHabit::spread: return {"spreads over all", "spread"};
        case HeadHabit::first: return {"rests on the first token", "first"};
        case HeadHabit::previous: return {"reads the token before", "before"};
        case HeadHabit::self: return {"reads itself", "self"};
        case HeadHabit::induction: return {"reads what came next last time", "induction"};
        case HeadHabit::duplicate: return {"reads the same token before", "same"};
    }
    return {"", ""};
}

}  // namespace

HeadHabit habit_of(const HeadStatistics& head) {
    const std::array<std::pair<HeadHabit::Kind, double>, 5> habits{{{HeadHabit::induction, head.induction},
                                                                    {HeadHabit::duplicate, head.duplicate},
                                                                    {HeadHabit::previous, head.previous},
                                                                    {HeadHabit::first, head.first},
                                                                    {HeadHabit::self, head.self}}};
    HeadHabit habit{.kind = HeadHabit::mixed, .share = 0};
    for (const auto& [kind, share] : habits)
        if (share >= half && share > habit.share) habit = {kind, share};
    if (habit.kind == HeadHabit::mixed && head.relative_entropy >= nearly_uniform)
        return {HeadHabit::spread, head.relative_entropy};
    return habit;
}

std::string HeadHabit::text() const {
    const std::string sentence = words_of(kind).sentence;
    return kind == mixed || kind == spread ? sentence : sentence + format(" (%.2f)", share);
}

std::string HeadHabit::note() const {
    const std::string word = words_of(kind).note;
    if (kind == mixed || kind == spread) return word;
    return word + (share >= 0.995 ? std::string(" 1") : format(" .%02.0f", 100 * share));
}

}  // namespace vantage
