#include "runtime/serve/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vantage::serve {

Logprobs::Logprobs(std::span<const float> logits) : logits_(logits) {
    const auto peak = static_cast<double>(std::ranges::max(logits));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - peak);
    log_sum_ = peak + std::log(sum);
}

std::vector<TokenLogprob> Logprobs::largest(int count, std::int32_t with) const {
    std::vector<std::int32_t> order(logits_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto most = order.begin() + std::min<std::ptrdiff_t>(count, std::ssize(order));
    std::partial_sort(order.begin(), most, order.end(),
                      [&](std::int32_t a, std::int32_t b) { return of(a) != of(b) ? of(a) > of(b) : a < b; });
    std::vector<TokenLogprob> all;
    for (auto id = order.begin(); id != most; ++id) all.push_back({*id, of(*id)});
    if (count > 0 && std::find(order.begin(), most, with) == most) all.push_back({with, of(with)});
    return all;
}

}  // namespace vantage::serve
