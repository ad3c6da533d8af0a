#include "head_ablation.h"

#include <algorithm>
#include <cmath>

#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

/// −ln softmax(logits)[id].
double surprise(std::span<const float> logits, std::int32_t id) {
    const double largest = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
    return largest + std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(id)]);
}

double mean_loss(const Session& session) {
    const std::vector<std::int32_t>& ids = session.tokens();
    const std::span<const float> logits = session.logits();
    const std::size_t vocab = logits.size() / ids.size();
    double sum = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) sum += surprise(logits.subspan(i * vocab, vocab), ids[i + 1]);
    return sum / static_cast<double>(ids.size() - 1);
}

}  // namespace

Ablation ablate(const Model& model, std::span<const std::int32_t> ids, Precision precision,
                const std::vector<HeadPlace>& masked) {
    const ModelConfig& config = model.config();
    if (config.kind == ModelKind::encoder)
        throw Error(ErrorKind::usage, "heads: --ablate measures how well the next token is predicted, but " +
                                          model.info().name + " is an encoder");
    if (ids.size() < 2)
        throw Error(ErrorKind::usage, "heads: --ablate wants a text of two tokens at least, to predict the second");
    Session session(model, {.context = std::ssize(ids), .precision = precision, .inspect = true, .silenced = masked});
    session.append(ids);
    session.process();
    Ablation result{.baseline = mean_loss(session), .losses = {}};
    Progress progress("silencing heads in turn");
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
        for (std::int64_t head = 0; head < config.heads; ++head) {
            progress.show(std::ssize(result.losses), config.layers * config.heads);
            std::vector<HeadPlace> silenced = masked;
            silenced.push_back({layer, head});
            session.silence(silenced);
            session.process();
            result.losses.push_back(mean_loss(session));
        }
    return result;
}

}  // namespace vantage::cli
