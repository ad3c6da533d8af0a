#include "cli/heads/head_gradients.h"

#include <algorithm>
#include <cmath>

#include "cli/heads/importance.h"
#include "cli/shared/progress.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/train/head_gradients.h"

namespace vantage::cli {

namespace {

// The most probable label of each input; -1 for models that predict tokens.
std::vector<std::int32_t> labels_of(const Model& model, std::span<const ModelInput> inputs, SessionOptions options) {
    std::vector<std::int32_t> labels(inputs.size(), -1);
    if (internal::config_of(model).head != internal::Head::classification) return labels;
    options.record_attention = {}, options.profile = false;
    Session session(model, options);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        session.restart();
        begin(session, inputs[i]);
        session.run();
        const Array logits = session.logits();
        labels[i] = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    }
    return labels;
}

}  // namespace

Ablation head_gradients(const Model& model, std::span<const ModelInput> inputs, const SessionOptions& options) {
    const SessionOptions longest = options_for(inputs, options);
    const std::vector<std::int32_t> labels = labels_of(model, inputs, longest);
    const std::vector<HeadId> heads = all_heads(model), masked = options.masked_heads.value_or(std::vector<HeadId>());
    internal::HeadGradients gradients(model, longest.context);
    std::vector<double> losses;
    std::vector<std::vector<double>> each(heads.size());
    Progress progress("differentiating");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        progress.show(static_cast<std::int64_t>(i), std::ssize(inputs));
        const ModelInput& input = inputs[i];
        const std::vector<double> found = gradients.of(
            {.ids = input.ids,
             .types = input.types,
             .source = input.source,
             .pixels = input.image ? std::span<const float>(input.image->pixels) : std::span<const float>(),
             .label = labels[i]},
            heads, masked);
        losses.push_back(gradients.loss());
        for (std::size_t head = 0; head < heads.size(); ++head) each[head].push_back(std::abs(found[head]));
    }
    Ablation result{.baseline = mean_of(losses).first, .heads = {}};
    for (std::size_t head = 0; head < heads.size(); ++head) {
        const auto [mean, error] = mean_of(each[head]);
        result.heads.push_back({heads[head], mean, error});
    }
    return result;
}

}  // namespace vantage::cli
