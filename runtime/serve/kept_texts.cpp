#include "runtime/serve/kept_texts.h"

#include <algorithm>

#include "runtime/base/clock.h"

namespace vantage::serve {

void KeptTexts::drop_old() {
    const double now = internal::seconds_now();
    std::erase_if(answers_, [&](const Answer& one) { return now - one.last > seconds_; });
}

void KeptTexts::begin(const std::string& id, const std::string& owner,
                      const std::vector<std::shared_ptr<const std::vector<std::int32_t>>>& prompts) {
    const std::lock_guard lock(mutex_);
    drop_old();
    Answer answer{.id = id, .owner = owner, .choices = {}, .last = internal::seconds_now()};
    for (const auto& prompt : prompts) answer.choices.push_back({.prompt = prompt, .drawn = {}});
    answers_.push_back(std::move(answer));
}

void KeptTexts::confirm(const std::string& id) {
    constexpr std::size_t owners = 8;
    const std::lock_guard lock(mutex_);
    const Answer* answer = named(id);
    if (answer == nullptr) return;
    const std::string owner = answer->owner;
    const auto is_owned = [&](const Answer& one) { return one.owner == owner; };
    while (static_cast<std::size_t>(std::ranges::count_if(answers_, is_owned)) > max_answers_)
        answers_.erase(std::ranges::find_if(answers_, is_owned));
    while (answers_.size() > owners * max_answers_) answers_.pop_front();
}

void KeptTexts::forget(const std::string& id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(answers_, [&](const Answer& one) { return one.id == id; });
}

KeptTexts::Answer* KeptTexts::named(const std::string& id) {
    const auto found = std::ranges::find(answers_, id, &Answer::id);
    return found == answers_.end() ? nullptr : &*found;
}

void KeptTexts::add(const std::string& id, std::size_t choice, std::int32_t token) {
    const std::lock_guard lock(mutex_);
    drop_old();
    Answer* answer = named(id);
    if (answer == nullptr) return;
    answer->choices[choice].drawn.push_back(token);
    answer->last = internal::seconds_now();
}

std::optional<KeptText> KeptTexts::find(const std::string& id, const std::string& owner, std::size_t choice) {
    const std::lock_guard lock(mutex_);
    drop_old();
    Answer* answer = named(id);
    if (answer == nullptr || answer->owner != owner || choice >= answer->choices.size()) return std::nullopt;
    answer->last = internal::seconds_now();
    const Choice& one = answer->choices[choice];
    KeptText text{.ids = *one.prompt, .prompt = std::ssize(*one.prompt)};
    text.ids.insert(text.ids.end(), one.drawn.begin(), one.drawn.end());
    return text;
}

}  // namespace vantage::serve
