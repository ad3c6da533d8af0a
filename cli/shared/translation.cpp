#include "cli/shared/translation.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

std::vector<std::int32_t> first_tokens(const ModelConfig& config) {
    std::vector<std::int32_t> ids{static_cast<std::int32_t>(config.start_token)};
    if (config.forced_first_token >= 0) ids.push_back(static_cast<std::int32_t>(config.forced_first_token));
    return ids;
}

std::vector<std::int32_t> generated_for(const Model& model, const ModelInput& input, std::int64_t max_tokens,
                                        SessionOptions options) {
    options.context = std::min(model.info().context, std::max<std::int64_t>(input.longest(), max_tokens + 2));
    Session session(model, options);
    if (input.image)
        session.set_image(input.image->pixels);
    else
        session.set_source(input.source);
    if (const auto first = static_cast<std::int32_t>(config_of(model).forced_first_token); first >= 0)
        session.append(std::span(&first, 1));
    generate(session, max_tokens);
    return session.tokens();
}

std::vector<std::int32_t> generate(Session& session, std::int64_t max_tokens) {
    Progress progress("generating");
    std::int64_t done = 0;
    return session.generate(max_tokens, [&](std::int32_t) {
        progress.show(++done, max_tokens);
        return true;
    });
}

std::vector<SourceRead> source_reads(Session& session) {
    const ModelInfo& info = session.model().info();
    const std::int64_t rows = std::ssize(session.tokens()), keys = std::ssize(session.source_tokens());
    std::vector<double> mean(static_cast<std::size_t>(rows * keys));
    const std::vector<std::int64_t>& layers = info.layers_of(AttentionKind::cross);
    const std::int64_t heads = info.heads_of(AttentionKind::cross);
    if (layers.empty()) return {};
    for_each_head("head statistics", layers, heads, [&](std::int64_t layer, std::int64_t head) {
        const Array p = session.attention({layer, head, AttentionKind::cross}, {0, rows}, {0, keys});
        std::ranges::transform(mean, p, mean.begin(), [](double sum, float x) { return sum + static_cast<double>(x); });
    });
    std::vector<SourceRead> reads;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = mean.begin() + row * keys;
        const auto best = std::max_element(begin, begin + keys);
        reads.push_back({static_cast<int>(best - begin), *best / static_cast<double>(std::ssize(layers) * heads)});
    }
    return reads;
}

}  // namespace vantage::cli
