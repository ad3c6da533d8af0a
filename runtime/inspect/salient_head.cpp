#include "runtime/inspect/salient_head.h"

#include <algorithm>

namespace vantage {

std::vector<TellingHead> telling_heads(std::span<const HeadStatistics> heads, int heads_per_layer, std::size_t count) {
    std::vector<TellingHead> all;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const HeadStatistics& head = heads[i];
        TellingHead telling{.layer = static_cast<int>(i) / heads_per_layer,
                            .head = static_cast<int>(i) % heads_per_layer};
        const auto consider = [&](double score, TellingHead::Reason reason, const Read& read) {
            if (read.key >= 0 && score > telling.score)
                telling.score = score, telling.reason = reason, telling.read = read;
        };
        consider(head.induction * head.repeats / (head.repeats + 1.0), TellingHead::copies, head.strongest_induction);
        consider(head.standing_out, TellingHead::stands_out, head.outstanding);
        if (telling.score > 0) all.push_back(telling);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    all.resize(std::min(all.size(), count));
    return all;
}

std::optional<TellingHead> most_telling_head(std::span<const HeadStatistics> heads, int heads_per_layer) {
    const std::vector<TellingHead> best = telling_heads(heads, heads_per_layer, 1);
    return best.empty() ? std::nullopt : std::optional(best.front());
}

}  // namespace vantage
