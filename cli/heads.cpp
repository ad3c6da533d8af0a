// vantage heads: what every head of a model does with a text, in numbers, by pattern, and by what the model loses without it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "commands.h"
#include "generation_options.h"
#include "head_mask.h"
#include "heads_pictures.h"
#include "heads_report.h"
#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/models/config.h"
#include "token_ids.h"

namespace vantage::cli {

namespace {

constexpr int longest_rollout = 512, longest_flow = 64;  // tokens: n² weights of each layer; n² maximum flows

struct HeadsOptions {
    std::string prompt, ids, pictures, precision = "f32", masked, sort = "telling";
    bool from_ids = false, json = false, csv = false, values = false, ablate = false, rollout = false, flow = false;
};

std::vector<std::int32_t> tokens_of(const HeadsOptions& o, const Model& model) {
    const std::vector<std::int32_t> ids =
        o.from_ids ? read_ids(o.ids, "heads: --ids")
                   : model.tokenizer().encode(o.prompt == "-" ? read_stdin() : o.prompt, true).ids;
    if (ids.empty()) throw Error(ErrorKind::usage, "heads: there is nothing to look at: the prompt has no tokens");
    const auto limit = [&](bool asked, const char* option, int most, const char* why) {
        if (asked && ids.size() > static_cast<std::size_t>(most))
            throw Error(ErrorKind::usage, format("heads: %s takes %d tokens at most, %s, but there are %zu", option,
                                                 most, why, ids.size()));
    };
    limit(o.rollout, "--rollout", longest_rollout, "since it holds all weights between them");
    limit(o.flow, "--flow", longest_flow, "since it solves a maximum flow for every two of them");
    return ids;
}

/// Ã of every layer: the mean of its heads' weights, mixed with the residual stream.
std::vector<SquareMatrix> layers_of(const HeadSurvey& survey) {
    std::vector<SquareMatrix> layers;
    Progress progress("joining the heads");
    for (int layer = 0; layer < survey.layers(); ++layer) {
        std::vector<double> sum(static_cast<std::size_t>(survey.tokens()) * static_cast<std::size_t>(survey.tokens()));
        for (int head = 0; head < survey.heads(); ++head) {
            progress.show(layer * survey.heads() + head, survey.layers() * survey.heads());
            const std::vector<float> weights = survey.weights(layer, head);
            std::ranges::transform(sum, weights, sum.begin(),
                                   [](double a, float b) { return a + static_cast<double>(b); });
        }
        layers.push_back(with_residual(sum, survey.tokens(), survey.heads()));
    }
    return layers;
}

void add_paths(const HeadsOptions& o, HeadsReport& report) {
    if (!o.rollout && !o.flow) return;
    const std::vector<SquareMatrix> layers = layers_of(report.survey);
    if (o.rollout) report.rollout = attention_rollout(layers);
    if (!o.flow) return;
    Progress progress("solving flows");
    report.flow = attention_flow(layers, [&](int row) { progress.show(row, report.survey.tokens()); });
}

void run(const HeadsOptions& o) {
    const std::optional<std::vector<HeadPlace>> masked = masked_heads(o.masked);
    const Model model = load_model(open_device());
    if (model.config().sees() || model.config().kind == ModelKind::encoder_decoder)
        throw Error(ErrorKind::usage, "heads: " + model.info().name + " is " + model.info().architecture +
                                          ", but heads are told of models of one text; inspect shows those of others");
    const std::vector<std::int32_t> ids = tokens_of(o, model);
    const Precision precision = precision_named(o.precision);
    Session session(model,
                    {.context = std::ssize(ids), .precision = precision, .watch = Watch::all(), .silenced = masked});
    session.append(ids);
    session.process();
    const HeadSurvey survey(session, ids.size());

    HeadsReport report{.survey = survey, .precision = o.precision, .rows = head_rows(survey), .sorted_by = o.sort};
    if (o.values) add_value_reads(survey, report.rows);
    if (o.ablate) {
        const Ablation ablation = ablate(model, ids, precision, masked.value_or(std::vector<HeadPlace>()));
        report.loss = ablation.baseline;
        for (std::size_t i = 0; i < report.rows.size(); ++i)
            report.rows[i].loss_change = ablation.losses[i] - ablation.baseline;
    }
    sort_rows(report.rows, o.sort);
    add_paths(o, report);
    if (!o.pictures.empty()) report.files = write_heads_pictures(report, o.pictures);
    (o.json ? print_heads_json : o.csv ? print_heads_csv : print_heads_table)(report);
}

void add_choices(CLI::App& command, HeadsOptions& o) {
    command
        .add_option("--sort", o.sort,
                    "What the heads are sorted by, the largest first; \"head\" = as the model has them")
        ->type_name("KEY")
        ->check(CLI::IsMember(sort_keys()));
    command.add_flag("--values", o.values, "Weigh what is read by the length of the values, ‖v‖ and ‖W_O v‖, too");
    command.add_flag("--ablate", o.ablate,
                     "Silence each head in turn: by how much the loss of the text rises (a run for every head)");
    command.add_flag(
        "--rollout", o.rollout,
        format("Trace tokens through all layers by products of the weights (up to %d tokens)", longest_rollout));
    command.add_flag("--flow", o.flow, format("The same by maximum flow (up to %d tokens)", longest_flow));
    command
        .add_option("--png", o.pictures, "Draw patterns.png, and rollout.png and flow.png with these, into this folder")
        ->type_name("DIR");
    add_precision_option(command, o.precision);
    add_head_mask_option(command, o.masked);
    CLI::Option* as_json = command.add_flag("--json", o.json, "One JSON object on stdout: every number of every head");
    command.add_flag("--csv", o.csv, "A line of numbers for each head, for spreadsheets")->excludes(as_json);
}

}  // namespace

void add_heads(CLI::App& app) {
    auto o = std::make_shared<HeadsOptions>();
    CLI::App* command = app.add_subcommand("heads", "What every attention head does with a text");
    command->footer(
        "docs/reading-attention.md says what the numbers mean, and what they do not.\n\n"
        "Examples:\n"
        "  vantage heads -p \"The animal didn't cross the street because it was too tired.\"\n"
        "  vantage heads -p \"The red boat is small. The red\" --ablate --png heads\n"
        "  vantage heads -m models/bert --values --csv -p \"The dog chased the birds.\" > heads.csv");
    add_model_option(*command);
    CLI::Option* prompt =
        command->add_option("-p,--prompt", o->prompt, "Text to look at; - reads stdin")->type_name("TEXT");
    CLI::Option* ids =
        command->add_option("--ids", o->ids, "Token ids instead of a text: 1,2,3")->type_name("IDS")->excludes(prompt);
    add_choices(*command, *o);
    CLI::Option* sort = command->get_option("--sort");
    command->callback([o, prompt, ids, sort] {
        o->from_ids = ids->count() > 0;
        if (!o->from_ids && prompt->count() == 0)
            throw Error(ErrorKind::usage, "heads: there is nothing to look at; give -p TEXT or --ids 1,2,3");
        if (o->ablate && sort->count() == 0) o->sort = "loss_change";
        run(*o);
    });
}

}  // namespace vantage::cli
