#include "cli/inspect/inspect_save.h"
#include "runtime/session/model_access.h"

#include "cli/shared/probabilities.h"
#include "cli/shared/translation.h"
#include "runtime/base/log.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

/// Owns the values of one forward pass; tensors() refers to them.
class SavedPass {
public:
    SavedPass(const HeadSurvey& survey, const std::optional<ModelImage>& image)
        : survey_(survey),
          image_(image),
          hidden_(survey.session().hidden().vector()),
          logits_(survey.session().logits().vector()),
          pooled_(survey.session().pooled().vector()),
          relation_(survey.session().relation().vector()),
          attention_(all_weights(survey.session(), survey.kind(), survey.tokens(), survey.tokens())),
          router_(survey.session().router_logits().vector()),
          last_(survey.session().last_hidden().vector()),
          mean_(mean_rows(last_, survey.session().model().info().width)) {}

    std::vector<TensorToWrite> tensors() const {
        const Session& session = survey_.session();
        const ModelInfo& info = session.model().info();
        const ModelConfig& config = config_of(session.model());
        const std::int64_t n = survey_.tokens();
        std::vector<TensorToWrite> all{
            {"hidden", "F32", {info.layers + 1, n, info.width}, std::as_bytes(std::span(hidden_))},
            {"attn", "F32", {info.layers, info.heads, n, n}, std::as_bytes(std::span(attention_))},
        };
        const auto add = [&](const char* name, std::vector<std::int64_t> shape, std::span<const float> values) {
            if (!values.empty()) all.push_back({name, "F32", std::move(shape), std::as_bytes(values)});
        };
        if (image_)
            add("pixel_values", {config.image.channels, config.image.height, config.image.width}, image_->pixels);
        else
            all.push_back({"input_ids", "I32", {n}, std::as_bytes(std::span(session.tokens()))});
        const bool labels = config.head == Head::classification;
        add("logits", labels ? std::vector{std::ssize(config.labels)} : std::vector{n, info.vocab}, logits_);
        add("router_logits", {info.layers, n, config.experts}, router_);
        if (config.kind == ModelKind::encoder) {
            add("last_hidden", {n, info.width}, last_);
            add("mean_pooled", {info.width}, mean_);
        }
        add("pooler_output", {std::ssize(pooled_)}, pooled_);
        add("seq_relationship_logits", {2}, relation_);
        return all;
    }

private:
    const HeadSurvey& survey_;
    const std::optional<ModelImage>& image_;
    std::vector<float> hidden_, logits_, pooled_, relation_, attention_, router_, last_, mean_;
};

void write(const std::string& file, std::vector<TensorToWrite> tensors, const Model& model,
           const std::vector<std::int32_t>& greedy, const std::string& precision) {
    if (!greedy.empty())
        tensors.push_back({"greedy.ids", "I32", {std::ssize(greedy)}, std::as_bytes(std::span(greedy))});
    write_safetensors(file, tensors,
                      {{"model", model.info().name}, {"device", model.device().caps().name}, {"precision", precision}});
    log(LogLevel::info, "saved: {}", file);
}

}  // namespace

void save_pass(const std::string& file, const HeadSurvey& survey, const std::vector<std::int32_t>& greedy,
               const std::optional<ModelImage>& image, const std::string& precision) {
    const Model& model = survey.session().model();
    if (config_of(model).kind == ModelKind::encoder_decoder) {
        const SavedTranslation saved(survey.session());
        return write(file, saved.tensors(), model, greedy, precision);
    }
    const SavedPass saved(survey, image);
    write(file, saved.tensors(), model, greedy, precision);
}

}  // namespace vantage::cli
