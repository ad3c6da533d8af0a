#include "runtime/inspect/telling_head.h"

namespace vantage {

std::optional<TellingHead> most_telling_head(std::span<const HeadStatistics> heads, int heads_per_layer) {
    std::optional<TellingHead> best;
    const auto consider = [&](std::size_t index, double score, TellingHead::Reason reason, const Read& read) {
        if (!(score > (best ? best->score : 0)) || read.key < 0) return;
        const int i = static_cast<int>(index);
        best = {
            .layer = i / heads_per_layer, .head = i % heads_per_layer, .score = score, .reason = reason, .read = read};
    };
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const HeadStatistics& head = heads[i];
        consider(i, head.induction * head.repeats / (head.repeats + 1.0), TellingHead::copies,
                 head.strongest_induction);
        consider(i, head.standing_out, TellingHead::stands_out, head.outstanding);
    }
    return best;
}

}  // namespace vantage
