#include "cli/heads/importance.h"

#include <algorithm>

#include "cli/generate/prompt_batch.h"
#include "cli/heads/head_gradients.h"
#include "cli/heads/heads_table.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "cli/shared/translation.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

Json head_json(const Model& model, const Ablation::Head& head, const char* measure) {
    return {{"attention", part_name(model, head.place.kind)},
            {"layer", head.place.layer},
            {"head", head.place.head},
            {measure, head.change},
            {"standard_error", head.error ? Json(*head.error) : Json()}};
}

}  // namespace

std::string head_name(const Model& model, const HeadId& head) {
    return (attention_kinds(model).size() > 1 && head.kind == AttentionKind::self ? "d" : "") + name_of(head);
}

std::vector<ModelInput> read_prompts(const std::string& command, const std::string& file, const Model& model,
                                     const SessionOptions& options) {
    if (config_of(model).sees())
        throw usage_error("{}: --prompts needs a model of texts, but {} reads images", command, model.info().name);
    require_loss(model, "--prompts");
    const std::vector<std::string> lines = lines_of(file == "-" ? read_stdin() : read_file(file));
    if (lines.empty()) throw usage_error("{}: {} has no lines; expected one text per line", command, file);
    std::vector<ModelInput> inputs;
    for (const std::string& line : lines) {
        InputOptions one{.prompt = line, .from_prompt = true};
        const std::string where = format("{}: line {} of {}", command, inputs.size() + 1, file);
        ModelInput input = read_input(where, one, model);
        if (!input.source.empty()) input.ids = generated_for(model, input, max_written, options);
        if (input.ids.size() < 2 && config_of(model).head != Head::classification)
            throw usage_error("{} has {} token{}; expected at least two, to predict the second", where,
                              input.ids.size(), input.ids.size() == 1 ? "" : "s");
        inputs.push_back(std::move(input));
    }
    return inputs;
}

SessionOptions options_for(std::span<const ModelInput> inputs, SessionOptions options) {
    options.context = std::ranges::max(inputs, {}, &ModelInput::longest).longest();
    return options;
}

void print_importance(const Model& model, const std::string& file, const SessionOptions& options, bool gradients,
                      bool json) {
    const std::vector<ModelInput> inputs = read_prompts("heads", file, model, options);
    Ablation found = (gradients ? head_gradients : ablate)(model, inputs, options_for(inputs, options));
    const char* measure = gradients ? "gradient" : "loss_change";
    std::ranges::stable_sort(found.heads,
                             [](const Ablation::Head& a, const Ablation::Head& b) { return a.change > b.change; });
    if (json)
        return write_json({{"schema_version", 1},
                           {"model", model.info().name},
                           {"device", model.device().caps().name},
                           {"precision", name_of(options.precision)},
                           {"attention_kind", name_of(options.variant)},
                           {"texts", inputs.size()},
                           {"loss", found.baseline},
                           {"heads", json_list(found.heads, [&](const Ablation::Head& head) {
                                return head_json(model, head, measure);
                            })}});
    const Page page;
    print_line(
        "{} {}", page.bold(model.info().name),
        page.dim(format("on {} · {}{} · {} texts · loss {:.3f} nats", model.device().caps().name,
                        name_of(options.precision), variant_text(options.variant), inputs.size(), found.baseline)));
    print_line("\n{}{}", page.bold("heads"),
               page.dim(gradients ? "  |gradient of the loss| by the factor of each, mean over the texts"
                                  : "  increase of the loss without each, mean over the texts"));
    TextTable table("lrr");
    table.row({"head", gradients ? "|∂ loss|" : "Δ loss", "± error"});
    for (const Ablation::Head& head : found.heads)
        table.row({head_name(model, head.place),
                   gradients ? format("{:.4f}", head.change) : format("{:+.4f}", head.change),
                   head.error ? format("{:.4f}", *head.error) : "–"});
    write_out(table.text());
}

}  // namespace vantage::cli
