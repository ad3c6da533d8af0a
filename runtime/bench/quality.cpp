#include "runtime/bench/quality.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/base/log.h"

namespace vantage {

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
        nats_ -= q[static_cast<std::size_t>(targets[i])];
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

std::vector<Quality> measure_quality(std::span<const QualityCandidate> candidates, std::span<const std::int32_t> ids,
                                     std::int64_t window,
                                     const std::function<void(std::int64_t, std::int64_t)>& on_window) {
    if (ids.size() < 2 || window < 2)
        throw Error(ErrorKind::usage, format("a text of %zu tokens in windows of %lld: at least two are wanted, to "
                                             "predict the second",
                                             ids.size(), static_cast<long long>(window)));
    std::vector<std::unique_ptr<Session>> sessions;
    for (const QualityCandidate& one : candidates)
        sessions.push_back(std::make_unique<Session>(
            one.model, SessionOptions{.context = window, .precision = one.precision, .inspect = true}));
    std::vector<QualityMeter> meters(candidates.size());
    for (std::size_t first = 0; first + 1 < ids.size(); first += static_cast<std::size_t>(window)) {
        if (on_window) on_window(static_cast<std::int64_t>(first), std::ssize(ids));
        const auto part = ids.subspan(first, std::min(static_cast<std::size_t>(window), ids.size() - first));
        const auto predicted = [&](const Session& session) {  // the last row's token is not in the window
            const std::vector<float>& logits = session.logits();
            return std::span(logits).first(logits.size() / part.size() * (part.size() - 1));
        };
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            sessions[i]->restart();
            sessions[i]->append(part);
            sessions[i]->process();
            if (part.size() > 1) meters[i].add(predicted(*sessions[0]), predicted(*sessions[i]), part.subspan(1));
        }
    }
    std::vector<Quality> all;
    for (const QualityMeter& meter : meters) all.push_back(meter.quality());
    return all;
}

}  // namespace vantage
