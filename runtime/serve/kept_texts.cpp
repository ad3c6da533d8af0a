#include "runtime/serve/kept_texts.h"

#include <algorithm>

#include "runtime/base/clock.h"

namespace vantage::serve {

void KeptTexts::begin(const std::string& id, const std::string& owner, std::vector<KeptText> choices) {
    const std::lock_guard lock(mutex_);
    const double now = internal::seconds_now();
    std::erase_if(answers_, [&](const Answer& one) { return now - one.last > seconds_; });
    if (most_ == 0) return;
    while (answers_.size() >= most_) answers_.pop_front();
    answers_.push_back({.id = id, .owner = owner, .choices = std::move(choices), .last = now});
}

KeptTexts::Answer* KeptTexts::named(const std::string& id) {
    const auto found = std::ranges::find(answers_, id, &Answer::id);
    return found == answers_.end() ? nullptr : &*found;
}

void KeptTexts::add(const std::string& id, std::size_t choice, std::int32_t token) {
    const std::lock_guard lock(mutex_);
    Answer* answer = named(id);
    if (answer == nullptr) return;
    answer->choices[choice].ids.push_back(token);
    answer->last = internal::seconds_now();
}

std::optional<KeptText> KeptTexts::find(const std::string& id, const std::string& owner, std::size_t choice) {
    const std::lock_guard lock(mutex_);
    Answer* answer = named(id);
    const double now = internal::seconds_now();
    if (answer == nullptr || answer->owner != owner || now - answer->last > seconds_ ||
        choice >= answer->choices.size())
        return std::nullopt;
    answer->last = now;
    return answer->choices[choice];
}

}  // namespace vantage::serve
