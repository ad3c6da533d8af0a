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

std::vector<float> all_weights(Session& session, AttentionKind kind, std::int64_t rows, std::int64_t keys) {
    const ModelInfo& info = session.model().info();
    const std::int64_t layers = info.layers_of(kind), heads = info.heads_of(kind);
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(layers * heads * rows * keys));
    for_each_head("collecting attention", layers, heads, [&](std::int64_t layer, std::int64_t head) {
        const Array one = session.attention({layer, head, kind}, {0, rows}, {0, keys});
        all.insert(all.end(), one.begin(), one.end());
    });
    return all;
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
    const auto [rows, keys] = rows_and_keys(session_, kind);
    return all_weights(session_, kind, rows, keys);
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
    const std::int64_t rows = std::ssize(session.tokens()), keys = std::ssize(session.source_tokens());
    std::vector<double> mean(static_cast<std::size_t>(rows * keys));
    for_each_head("head statistics", info.layers, info.heads, [&](std::int64_t layer, std::int64_t head) {
        const Array p = session.attention({layer, head, AttentionKind::cross}, {0, rows}, {0, keys});
        std::ranges::transform(mean, p, mean.begin(), [](double sum, float x) { return sum + static_cast<double>(x); });
    });
    std::vector<SourceRead> reads;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = mean.begin() + row * keys;
        const auto best = std::max_element(begin, begin + keys);
        reads.push_back({static_cast<int>(best - begin), *best / static_cast<double>(info.layers * info.heads)});
    }
    return reads;
}

}  // namespace vantage::cli
