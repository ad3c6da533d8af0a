#include "runtime/bench/quality.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

/// ln softmax.
std::vector<double> log_probabilities(std::span<const float> logits) {
    const double largest = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
    const double all = largest + std::log(sum);
    std::vector<double> logs(logits.size());
    std::ranges::transform(logits, logs.begin(), [&](float x) { return static_cast<double>(x) - all; });
    return logs;
}

}  // namespace

double Quality::perplexity() const { return std::exp(nats); }

void QualityMeter::add(std::span<const float> reference, std::span<const float> logits,
                       std::span<const std::int32_t> targets) {
    const std::size_t vocab = logits.size() / targets.size();
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const std::vector<double> p = log_probabilities(reference.subspan(i * vocab, vocab)),
                                  q = log_probabilities(logits.subspan(i * vocab, vocab));
        ++tokens_;
        nats_ -= at(q, targets[i]);
        for (std::size_t token = 0; token < vocab; ++token) divergence_ += std::exp(p[token]) * (p[token] - q[token]);
        same_top_ += std::ranges::max_element(p) - p.begin() == std::ranges::max_element(q) - q.begin() ? 1 : 0;
    }
}

Quality QualityMeter::quality() const {
    const auto count = static_cast<double>(std::max<std::int64_t>(tokens_, 1));
    return {.tokens = tokens_,
            .nats = nats_ / count,
            .divergence = divergence_ / count,
            .same_top = static_cast<double>(same_top_) / count};
}

Quality measure_quality(const Model& model, SessionOptions options, std::span<const std::int32_t> ids,
                        std::int64_t window, ReferenceLogits& reference,
                        const std::function<void(std::int64_t, std::int64_t)>& on_window) {
    if (ids.size() < 2 || window < 2)
        throw usage_error(
            "a text of {} tokens in windows of {}; both must be at least 2, to "
            "predict the second token",
            ids.size(), window);
    options.context = window, options.inspect = true;
    Session session(model, options);
    QualityMeter meter;
    const auto step = static_cast<std::size_t>(window);
    for (std::size_t i = 0; i * step + 1 < ids.size(); ++i) {
        if (on_window) on_window(static_cast<std::int64_t>(i * step), std::ssize(ids));
        const auto part = ids.subspan(i * step, std::min(step, ids.size() - i * step));
        session.restart();
        session.append(part);
        session.run();
        const Array all = session.logits();  // the target of the last row is outside of the window
        const auto logits = all.values().first(all.values().size() / part.size() * (part.size() - 1));
        if (i == reference.size()) reference.emplace_back(logits.begin(), logits.end());
        meter.add(reference[i], logits, part.subspan(1));
    }
    return meter.quality();
}

}  // namespace vantage::internal
