#include "cli/shared/translation.h"
#include "runtime/session/model_access.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

std::pair<std::int64_t, std::int64_t> rows_and_keys(const Session& session, AttentionKind kind) {
    const std::int64_t written = std::ssize(session.tokens()), read = std::ssize(session.source_tokens());
    return {kind == AttentionKind::encoder ? read : written, kind == AttentionKind::self ? written : read};
}

}  // namespace

std::vector<std::int32_t> generated_for(const Model& model, const std::vector<std::int32_t>& source,
                                        std::int64_t max_tokens, SessionOptions options) {
    options.context = std::min(model.info().context, std::max<std::int64_t>(std::ssize(source), max_tokens + 2));
    Session session(model, options);
    session.set_source(source);
    if (const auto first = static_cast<std::int32_t>(config_of(model).forced_first_token); first >= 0)
        session.append(std::span(&first, 1));
    Progress progress("generating");
    std::int64_t done = 0;
    session.generate(max_tokens, [&](std::int32_t) {
        progress.show(++done, max_tokens);
        return true;
    });
    return session.tokens();
}

SavedTranslation::SavedTranslation(Session& session)
    : session_(session),
      logits_(session.logits().vector()),
      encoder_hidden_(session.encoder_hidden().vector()),
      encoder_last_(session.encoder_last_hidden().vector()),
      decoder_hidden_(session.hidden().vector()),
      encoder_attention_(weights(AttentionKind::encoder)),
      decoder_attention_(weights(AttentionKind::self)),
      cross_(weights(AttentionKind::cross)) {}

std::vector<float> SavedTranslation::weights(AttentionKind kind) const {
    const ModelInfo& info = session_.model().info();
    const auto [rows, keys] = rows_and_keys(session_, kind);
    const std::int64_t layers = info.layers_of(kind), heads = info.heads_of(kind);
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(layers * heads * rows * keys));
    Progress progress("collecting attention");
    for (std::int64_t layer = 0; layer < layers; ++layer)
        for (std::int64_t head = 0; head < heads; ++head) {
            progress.show(layer * heads + head, layers * heads);
            const std::vector<float> one = session_.attention({layer, head, kind}, {0, rows}, {0, keys}).vector();
            all.insert(all.end(), one.begin(), one.end());
        }
    return all;
}

std::vector<TensorToWrite> SavedTranslation::tensors() const {
    const ModelInfo& info = session_.model().info();
    const std::int64_t m = std::ssize(session_.tokens()), n = std::ssize(session_.source_tokens());
    const auto floats = [](const char* name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
        return TensorToWrite{name, "F32", std::move(shape), std::as_bytes(std::span(values))};
    };
    return {{"input_ids", "I32", {n}, std::as_bytes(std::span(session_.source_tokens()))},
            {"decoder_input_ids", "I32", {m}, std::as_bytes(std::span(session_.tokens()))},
            floats("logits", {m, info.vocab}, logits_),
            floats("encoder_last_hidden", {n, info.width}, encoder_last_),
            floats("encoder_hidden", {info.encoder_layers + 1, n, info.width}, encoder_hidden_),
            floats("decoder_hidden", {info.layers + 1, m, info.width}, decoder_hidden_),
            floats("encoder_attn", {info.encoder_layers, info.encoder_heads, n, n}, encoder_attention_),
            floats("decoder_attn", {info.layers, info.heads, m, m}, decoder_attention_),
            floats("cross_attn", {info.layers, info.heads, m, n}, cross_)};
}

std::vector<SourceRead> source_reads(Session& session) {
    const ModelInfo& info = session.model().info();
    const auto [rows, keys] = rows_and_keys(session, AttentionKind::cross);
    std::vector<double> mean(static_cast<std::size_t>(rows * keys));
    Progress progress("head statistics");
    for (std::int64_t layer = 0; layer < info.layers; ++layer)
        for (std::int64_t head = 0; head < info.heads; ++head) {
            progress.show(layer * info.heads + head, info.layers * info.heads);
            const std::vector<float> p =
                session.attention({layer, head, AttentionKind::cross}, {0, rows}, {0, keys}).vector();
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(p[i]);
        }
    std::vector<SourceRead> reads;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = mean.begin() + row * keys;
        const auto best = std::max_element(begin, begin + keys);
        reads.push_back({static_cast<int>(best - begin), *best / static_cast<double>(info.layers * info.heads)});
    }
    return reads;
}

}  // namespace vantage::cli
