#include "runtime/serve/prompt_scores.h"

#include "runtime/base/errors.h"
#include "runtime/serve/logprobs.h"

namespace vantage::serve {

using namespace internal;

std::vector<DrawnToken> prompt_scores(const Model& model, const SessionOptions& options,
                                      std::span<const std::int32_t> ids, int top) {
    constexpr std::int64_t max_numbers = std::int64_t{1} << 28;  // 1 GiB of floats
    const std::int64_t vocab = model.info().vocab, tokens = std::ssize(ids);
    if (tokens > max_numbers / vocab)
        throw usage_error("echo with logprobs keeps the logits of all tokens: at most {} tokens here, not {}",
                          max_numbers / vocab, tokens);
    SessionOptions inspecting = options;
    inspecting.inspect = true;
    inspecting.context = tokens;
    Session session(model, inspecting);
    session.append(ids);
    session.run();
    const Array logits = session.logits();
    std::vector<DrawnToken> scores;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        DrawnToken token{.id = ids[i]};
        if (i > 0) {
            const auto columns = static_cast<std::size_t>(vocab);
            const Logprobs before(logits.values().subspan((i - 1) * columns, columns));
            token.logprob = before.of(ids[i]);
            token.top = before.largest(top, ids[i]);
        }
        scores.push_back(std::move(token));
    }
    return scores;
}

}  // namespace vantage::serve
