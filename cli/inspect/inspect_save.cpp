#include "cli/inspect/inspect_save.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/base/log.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

/// Tensors by name. Those that the model does not have are left out.
struct NamedArrays {
    std::vector<std::pair<const char*, Array>> all;
    void add(const char* name, Array values) {
        if (!values.empty()) all.emplace_back(name, std::move(values));
    }
};

/// The weights of all heads of one kind, [layers that have heads, heads, queries, keys].
Array all_weights(Session& session, AttentionKind kind) {
    const ModelInfo& info = session.model().info();
    const std::vector<std::int64_t>& layers = info.layers_of(kind);
    const std::int64_t count = std::ssize(layers), heads = info.heads_of(kind);
    if (layers.empty()) return {};
    Array one;
    std::vector<float> all;
    for_each_head("collecting attention", layers, heads, [&](std::int64_t layer, std::int64_t head) {
        one = session.attention({layer, head, kind});
        if (all.empty()) all.reserve(static_cast<std::size_t>(count * heads) * one.size());
        all.insert(all.end(), one.begin(), one.end());
    });
    return {Shape{count, heads, one.shape()[0], one.shape()[1]}, std::move(all)};
}

/// The mean of all rows.
Array mean_of_rows(const Array& rows) {
    const std::int64_t width = rows.shape()[-1], count = rows.shape().rows();
    std::vector<double> sums(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i % sums.size()] += static_cast<double>(rows.values()[i]);
    std::vector<float> mean;
    for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
    return {Shape{width}, std::move(mean)};
}

Array pixels_of(const ModelConfig& config, const std::optional<ModelImage>& image) {
    if (!image) return {};
    return {Shape{config.image.channels, config.image.height, config.image.width}, image->pixels};
}

NamedArrays arrays_of_pass(Session& session, const std::optional<ModelImage>& image) {
    const ModelConfig& config = config_of(session.model());
    NamedArrays arrays;
    arrays.add("hidden", session.hidden());
    arrays.add("attn", all_weights(session, AttentionKind::self));
    arrays.add("pixel_values", pixels_of(config, image));
    arrays.add("logits", session.logits());
    arrays.add("router_logits", session.router_logits());
    if (config.kind == ModelKind::encoder) {
        const Array last = session.last_hidden();
        arrays.add("last_hidden", last);
        arrays.add("mean_pooled", mean_of_rows(last));
    }
    arrays.add("pooler_output", session.pooled());
    arrays.add("seq_relationship_logits", session.relation());
    return arrays;
}

NamedArrays arrays_of_translation(Session& session, const std::optional<ModelImage>& image) {
    NamedArrays arrays;
    arrays.add("pixel_values", pixels_of(config_of(session.model()), image));
    arrays.add("logits", session.logits());
    arrays.add("encoder_last_hidden", session.encoder_last_hidden());
    arrays.add("encoder_hidden", session.encoder_hidden());
    arrays.add("decoder_hidden", session.hidden());
    arrays.add("encoder_attn", all_weights(session, AttentionKind::encoder));
    arrays.add("decoder_attn", all_weights(session, AttentionKind::self));
    arrays.add("cross_attn", all_weights(session, AttentionKind::cross));
    return arrays;
}

}  // namespace

void save_pass(const std::string& file, const InspectReport& report, const std::optional<ModelImage>& image) {
    Session& session = report.survey.session();
    const Model& model = session.model();
    const bool translates = config_of(model).kind == ModelKind::encoder_decoder;
    const NamedArrays arrays = translates ? arrays_of_translation(session, image) : arrays_of_pass(session, image);
    std::vector<TensorToWrite> tensors;
    const auto add_ids = [&](const char* name, const std::vector<std::int32_t>& ids) {
        tensors.push_back({name, "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))});
    };
    if (translates && !image) add_ids("input_ids", session.source_tokens());
    if (translates || !image) add_ids(translates ? "decoder_input_ids" : "input_ids", session.tokens());
    for (const auto& [name, values] : arrays.all) {
        const std::span<const std::int64_t> sizes = values.shape().sizes();
        tensors.push_back({name, "F32", {sizes.begin(), sizes.end()}, std::as_bytes(values.values())});
    }
    if (!report.greedy.empty()) add_ids("greedy.ids", report.greedy);
    write_safetensors(file, tensors,
                      {{"model", model.info().name},
                       {"device", model.device().caps().name},
                       {"precision", report.precision},
                       {"attention_kind", name_of(report.variant)}});
    log(LogLevel::info, "saved: {}", file);
}

}  // namespace vantage::cli
