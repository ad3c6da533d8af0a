#include "runtime/inspect/salient_head.h"

#include <algorithm>
#include <functional>

namespace vantage::internal {

std::vector<SalientHead> salient_heads(std::span<const HeadStatistics> heads, int heads_per_layer, std::size_t count,
                                       std::span<const std::int64_t> layers) {
    const auto per_layer = static_cast<std::size_t>(heads_per_layer);
    std::vector<SalientHead> all;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const HeadStatistics& head = heads[i];
        const std::size_t row = i / per_layer;
        SalientHead salient{.layer = static_cast<int>(layers.empty() ? static_cast<std::int64_t>(row) : layers[row]),
                            .head = static_cast<int>(i % per_layer)};
        const auto consider = [&](double score, SalientHead::Reason reason, const Read& read) {
            if (read.key >= 0 && score > salient.score)
                salient.score = score, salient.reason = reason, salient.read = read;
        };
        consider(head.induction * head.repeats / (head.repeats + 1.0), SalientHead::induction,
                 head.strongest_induction);
        consider(head.standing_out, SalientHead::single_link, head.outstanding);
        if (salient.score > 0) all.push_back(salient);
    }
    std::ranges::stable_sort(all, std::greater(), &SalientHead::score);
    all.resize(std::min(all.size(), count));
    return all;
}

std::optional<SalientHead> most_salient_head(std::span<const HeadStatistics> heads, int heads_per_layer,
                                             std::span<const std::int64_t> layers) {
    const std::vector<SalientHead> best = salient_heads(heads, heads_per_layer, 1, layers);
    return best.empty() ? std::nullopt : std::optional(best.front());
}

}  // namespace vantage::internal
