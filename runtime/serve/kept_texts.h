// The tokens of the last answers, so that their attention can be asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::serve {

/// A prompt and what was drawn after it.
struct KeptText {
    std::vector<std::int32_t> ids;
    std::int64_t prompt = 0;  ///< tokens of the prompt
};

/// Threads: any.
class KeptTexts : internal::NotCopied {
public:
    /// At most so many answers of each owner, and eight times as many of all, for so many seconds.
    KeptTexts(std::size_t answers, double seconds) : max_answers_(answers), seconds_(seconds) {}
    /// A new answer, with the prompt of each choice. It replaces no other one before `confirm`.
    void begin(const std::string& id, const std::string& owner,
               const std::vector<std::shared_ptr<const std::vector<std::int32_t>>>& prompts);
    /// The answer is made: the oldest ones make room. `forget`: it is not.
    void confirm(const std::string& id);
    void forget(const std::string& id);
    void add(const std::string& id, std::size_t choice, std::int32_t token);
    /// A choice of an answer; nothing if it is not kept any more, or somebody else's.
    std::optional<KeptText> find(const std::string& id, const std::string& owner, std::size_t choice);

private:
    struct Choice {
        std::shared_ptr<const std::vector<std::int32_t>> prompt;
        std::vector<std::int32_t> drawn;
    };
    struct Answer {
        std::string id, owner;
        std::vector<Choice> choices;
        double last = 0;  ///< when something was drawn or asked
    };
    Answer* named(const std::string& id);
    void drop_old();

    std::size_t max_answers_;
    double seconds_;
    std::mutex mutex_;
    std::deque<Answer> answers_;  // the oldest first
};

}  // namespace vantage::serve
