#include "cli/heads/head_ablation.h"

#include <algorithm>
#include <cmath>

#include "cli/shared/profile.h"
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
    std::vector<AttentionKind> kinds;
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross})
        if (model.info().attends(kind)) kinds.push_back(kind);
    return kinds;
}

void require_loss(const Model& model, const char* option) {
    if (config_of(model).kind == ModelKind::encoder && !predicts_label(model))
        throw usage_error(
            "heads: {} needs a model that predicts the next token or one label, but {} is an encoder without either",
            option, model.info().name);
}

void require_next_token(const Model& model, const ModelInput& input) {
    if (!predicts_label(model) && input.ids.size() < 2)
        throw usage_error("heads: a loss needs at least two tokens, to predict the second");
}

std::vector<HeadId> all_heads(const Model& model) {
    std::vector<HeadId> heads;
    for (const AttentionKind kind : attention_kinds(model))
        for (const std::int64_t layer : model.info().layers_of(kind))
            for (std::int64_t head = 0; head < model.info().heads_of(kind); ++head)
                heads.push_back({layer, head, kind});
    return heads;
}

namespace {

/// Inputs in a session whose heads can be masked, and the loss of each.
class Losses {
public:
    Losses(const Model& model, std::span<const ModelInput> inputs, const SessionOptions& options)
        : session_(model, options), inputs_(inputs) {}
    /// Of the complete model. The labels that it predicts are those of the others, too.
    std::vector<double> baseline() {
        return each_loss([&](std::size_t) {
            const Array logits = session_.logits();
            answers_.push_back(static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin()));
        });
    }
    std::vector<double> without(const std::vector<HeadId>& heads) {
        session_.mask_heads(heads);
        return each_loss([](std::size_t) {});
    }
    Session& session() { return session_; }

private:
    template <class Look>
    std::vector<double> each_loss(const Look& look) {
        std::vector<double> losses;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (inputs_.size() > 1 || session_.tokens().empty()) {
                session_.restart();
                begin(session_, inputs_[i]);
            }
            session_.run();
            look(i);
            losses.push_back(loss_of(session_, answers_[i]));
        }
        return losses;
    }

    Session session_;
    std::span<const ModelInput> inputs_;
    std::vector<std::size_t> answers_;
};

}  // namespace

std::pair<double, std::optional<double>> mean_of(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / count) * (value - sum / count);
    if (values.size() < 2) return {sum / count, std::nullopt};
    return {sum / count, std::sqrt(squares / (count - 1) / count)};
}

Ablation ablate(const Model& model, std::span<const ModelInput> inputs, const SessionOptions& options) {
    SessionOptions all_logits = options;
    all_logits.record_attention = {}, all_logits.inspect = true, all_logits.profile = profiling();
    std::vector<HeadId> masked = options.masked_heads.value_or(std::vector<HeadId>());
    all_logits.masked_heads = masked;
    Losses losses(model, inputs, all_logits);
    const std::vector<double> complete = losses.baseline();
    Ablation result{.baseline = mean_of(complete).first, .heads = {}};
    const std::vector<HeadId> heads = all_heads(model);
    Progress progress("ablating heads");
    for (const HeadId& head : heads) {
        progress.show(std::ssize(result.heads), std::ssize(heads));
        masked.push_back(head);
        std::vector<double> changes = losses.without(masked);
        masked.pop_back();
        for (std::size_t i = 0; i < changes.size(); ++i) changes[i] -= complete[i];
        const auto [change, error] = mean_of(changes);
        result.heads.push_back({head, change, error});
    }
    note_dispatches(model.device(), losses.session().take_timings());
    return result;
}

}  // namespace vantage::cli
