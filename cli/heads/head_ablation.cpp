#include "cli/heads/head_ablation.h"

#include <algorithm>
#include <cmath>

#include "cli/shared/progress.h"
#include "runtime/base/errors.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

bool predicts_label(const Model& model) {
    return config_of(model).head == Head::classification && config_of(model).labelling == Labelling::one_of;
}

/// −ln softmax(logits)[id].
double surprise(std::span<const float> logits, std::size_t id) {
    const double largest = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
    return largest + std::log(sum) - static_cast<double>(logits[id]);
}

/// Loss of the label `answer`, or the mean loss of the next tokens.
double loss_of(const Session& session, std::size_t answer) {
    const Array all = session.logits();
    const std::span<const float> logits = all.values();
    if (predicts_label(session.model())) return surprise(logits, answer);
    const std::vector<std::int32_t>& ids = session.tokens();
    const std::size_t vocab = logits.size() / ids.size();
    double sum = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
        sum += surprise(logits.subspan(i * vocab, vocab), static_cast<std::size_t>(ids[i + 1]));
    return sum / static_cast<double>(ids.size() - 1);
}

}  // namespace

std::vector<AttentionKind> attention_kinds(const Model& model) {
    if (config_of(model).kind != ModelKind::encoder_decoder) return {AttentionKind::self};
    return {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross};
}

void require_loss(const Model& model) {
    if (config_of(model).kind == ModelKind::encoder && !predicts_label(model))
        throw usage_error(
            "heads: --ablate measures the loss of the next token or of a label, but {} is an encoder without either",
            model.info().name);
}

void require_next_token(const Model& model, const ModelInput& input) {
    if (!predicts_label(model) && input.ids.size() < 2)
        throw usage_error("heads: --ablate needs at least two tokens, to predict the second");
}

Ablation ablate(const Model& model, const ModelInput& input, const SessionOptions& options) {
    SessionOptions all_logits = options;
    all_logits.record_attention = {}, all_logits.inspect = true, all_logits.profile = false;
    std::vector<HeadId> masked = options.masked_heads.value_or(std::vector<HeadId>());
    all_logits.masked_heads = masked;
    Session session(model, all_logits);
    begin(session, input);
    session.run();
    const Array logits = session.logits();
    const auto answer = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
    Ablation result{.baseline = loss_of(session, answer), .losses = {}};
    std::vector<HeadId> places;
    for (const AttentionKind kind : attention_kinds(model))
        for (std::int64_t layer = 0; layer < model.info().layers_of(kind); ++layer)
            for (std::int64_t head = 0; head < model.info().heads_of(kind); ++head)
                places.push_back({layer, head, kind});
    Progress progress("ablating heads");
    for (const HeadId& place : places) {
        progress.show(std::ssize(result.losses), std::ssize(places));
        masked.push_back(place);
        session.mask_heads(masked);
        session.run();
        masked.pop_back();
        result.losses.push_back(loss_of(session, answer));
    }
    return result;
}

}  // namespace vantage::cli
