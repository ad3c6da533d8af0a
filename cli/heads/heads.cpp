// vantage heads: statistics and patterns of all attention heads of a model on one text or image, their ablation, the
// syntactic relations that they find in annotated sentences, and the composition of their weights.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/heads/composition.h"
#include "cli/heads/head_ablation.h"
#include "cli/heads/head_gradients.h"
#include "cli/heads/heads_json.h"
#include "cli/heads/heads_report.h"
#include "cli/heads/heads_table.h"
#include "cli/heads/importance.h"
#include "cli/heads/pattern_pictures.h"
#include "cli/heads/relations.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "cli/shared/translation.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

// tokens: n² weights per layer; n² maximum flows; singular values of n × n weights per head
constexpr int max_rollout = 512, max_flow = 64, max_rank = 256;

struct HeadsOptions {
    InputOptions input;
    std::string pictures, sort = "salience", relations, prompts;
    std::int64_t permutations = 0;
    std::uint64_t seed = 0;
    bool json = false, csv = false, values = false, ablate = false, gradients = false, rollout = false, flow = false,
         rank = false, composition = false;
};

// ---- input checks, before anything runs -----------------------------------------------------------------------------

void check_lengths(const HeadsOptions& o, const ModelInput& input) {
    const auto limit = [&](bool asked, const char* option, int max_tokens, const char* why) {
        const std::int64_t tokens = std::max(input.longest(), std::ssize(input.source));
        if (asked && tokens > max_tokens)
            throw usage_error("heads: {} supports at most {} tokens, {}, but there are {}", option, max_tokens, why,
                              tokens);
    };
    limit(o.rollout, "--rollout", max_rollout, "because it keeps all weights");
    limit(o.rank, "--rank", max_rank, "because it computes singular values on the host");
    limit(o.flow, "--flow", max_flow, "because it solves one maximum flow per pair");
}

void check_values(const HeadsOptions& o, const Model& model) {
    const Attrs& own = config_of(model).own;
    if (!own.has("global_tokens")) return;
    if (!o.input.global_positions && o.input.global_tokens.value_or(own.integer("global_tokens")) == 0) return;
    for (const auto& [asked, option] :
         {std::pair{o.values, "--values"}, {o.rank, "--rank"}, {o.permutations > 0, "--permute"}})
        if (asked)
            throw usage_error(
                "heads: {} does not support global tokens, which have value projections of their own; turn them off "
                "with --global-tokens 0",
                option);
}

/// Rollout and flow need to know of every layer which tokens it mixes.
void check_paths(const HeadsOptions& o, const Model& model) {
    const ModelInfo& info = model.info();
    const std::vector<std::int64_t>& attending = info.layers_of(AttentionKind::self);
    if ((!o.rollout && !o.flow) || std::ssize(attending) == info.layers) return;
    throw usage_error(
        "heads: {} follows tokens through all layers by their attention, but of {} only {} of {} have any",
        o.rollout ? "--rollout" : "--flow", described(info), attending.size(), info.layers);
}

void require_f32(const HeadsOptions& o) {
    if (o.input.precision != "f32") throw usage_error("heads: --gradients are in f32, not in {}", o.input.precision);
    if (profiling()) log(LogLevel::warning, "the profile has no times of --gradients");
}

/// The input. Without --decoder-ids, an encoder–decoder generates its text first.
ModelInput checked_input(const HeadsOptions& o, const Model& model, const SessionOptions& options) {
    if (o.ablate) require_loss(model, "--ablate");
    if (o.gradients) require_loss(model, "--gradients");
    if (o.gradients) require_f32(o);
    if (o.permutations > 0) require_loss(model, "--permute");
    check_values(o, model);
    check_paths(o, model);
    ModelInput input = read_input("heads", o.input, model);
    check_lengths(o, input);
    if (!input.source.empty() && input.ids.empty()) {
        SessionOptions writing = options;
        writing.record_attention = {};
        input.ids = generated_for(model, input, max_written, writing);
    }
    if (o.ablate || o.gradients) require_next_token(model, input);
    if (!o.pictures.empty()) make_folder(o.pictures);
    return input;
}

// ---- results --------------------------------------------------------------------------------------------------------

/// Ã of every layer: the mean of the heads' weights, mixed with the residual stream.
std::vector<SquareMatrix> layers_of(const HeadSurvey& survey) {
    const auto tokens = static_cast<std::size_t>(survey.tokens());
    std::vector<double> sum(tokens * tokens);
    std::vector<SquareMatrix> layers;
    for_each_head("averaging heads", survey.layers(), survey.heads(), [&](std::int64_t layer, int head) {
        std::ranges::transform(sum, survey.weights(layer, head), sum.begin(),
                               [](double a, float b) { return a + static_cast<double>(b); });
        if (head + 1 < survey.heads()) return;
        layers.push_back(with_residual(sum, survey.tokens(), survey.heads()));
        std::ranges::fill(sum, 0);
    });
    return layers;
}

/// Rollout and flow follow one text through its layers. Cross-attention connects two texts, so it has neither.
void add_paths(const HeadsOptions& o, HeadsPart& part) {
    if ((!o.rollout && !o.flow) || part.survey.kind() == AttentionKind::cross) return;
    const std::vector<SquareMatrix> layers = layers_of(part.survey);
    if (o.rollout) part.rollout = attention_rollout(layers);
    if (!o.flow) return;
    Progress progress("solving flows");
    part.flow = attention_flow(layers, [&](int row) { progress.show(row, part.survey.tokens()); });
}

/// Sets what was measured of each head, and the loss of the input.
void add_importance(HeadsReport& report, const Ablation& found, std::optional<double> HeadRow::*number) {
    report.loss = found.baseline;
    auto head = found.heads.begin();
    for (HeadsPart& part : report.parts)
        for (HeadRow& row : part.rows) row.*number = (head++)->change;
}

void add_permutations(const HeadsOptions& o, HeadsReport& report, const ModelInput& input,
                      const SessionOptions& options) {
    for (const Permutation& one : permute_heads(report.model, input, options, o.permutations, o.seed))
        for (HeadsPart& part : report.parts)
            for (HeadRow& row : part.rows)
                if (row.place == one.place) row.permuted = one;
    for (HeadsPart& part : report.parts)  // heads of the encoder of an encoder–decoder
        for (HeadRow& row : part.rows)
            if (!row.permuted) row.permuted = {row.place, std::nan(""), std::nan("")};
}

/// What is asked about one text or image.
void run_input(const HeadsOptions& o) {
    const KeyNames sort = names_of_key(o.sort);
    check_sort_key(sort.data, {.ablate = o.ablate,
                               .gradients = o.gradients,
                               .values = o.values,
                               .rank = o.rank,
                               .permute = o.permutations > 0});
    SessionOptions options = session_options(o.input);
    options.record_attention = RecordAttention::all(), options.profile = profiling();
    const Model model = load_model(open_device(), tower_for(!o.input.image.empty()));
    require_attention(model.info(), "heads");
    ModelInput input = checked_input(o, model, options);
    options.context = input.longest();
    Session session(model, options);
    begin(session, input);
    session.run();
    note_dispatches(model.device(), session.take_timings());

    HeadsReport report{.model = model,
                       .precision = name_of(options.precision),
                       .stable = options.is_stable(),
                       .variant = options.variant,
                       .parts = {},
                       .sorted_by = sort};
    report.parts.reserve(attention_kinds(model).size());  // rows point into their parts
    for (const AttentionKind kind : attention_kinds(model))
        report.parts.push_back(heads_part(session, input.ids.size(), kind));
    const std::span<const ModelInput> inputs(&input, 1);
    if (o.ablate) add_importance(report, ablate(model, inputs, options), &HeadRow::loss_change);
    if (o.gradients) add_importance(report, head_gradients(model, inputs, options), &HeadRow::gradient);
    if (o.permutations > 0) add_permutations(o, report, input, options);
    for (HeadsPart& part : report.parts) {
        if (o.values) add_value_reads(part);
        if (o.rank) add_ranks(part);
        add_paths(o, part);
        sort_rows(part.rows, sort.data);
    }
    report.image = std::move(input.image);
    if (!o.pictures.empty()) report.files = write_heads_pictures(report, o.pictures);
    (o.json ? print_heads_json : o.csv ? print_heads_csv : print_heads_table)(report);
}

void run(const HeadsOptions& o) {
    const bool needs_input = !o.composition && o.relations.empty() && o.prompts.empty();
    if (needs_input) {
        require_input("heads", o.input);
        return run_input(o);
    }
    const Model model = load_model(open_device());
    require_attention(model.info(), "heads");
    if (o.prompts.empty() && !model.info().attends(AttentionKind::self))
        throw usage_error("heads: {} has no attention of a text to itself", described(model.info()));
    if (o.composition) return print_composition(model, o.pictures, o.json);
    SessionOptions options = session_options(o.input);
    if (o.gradients) require_f32(o);
    if (!o.prompts.empty()) return print_importance(model, o.prompts, options, o.gradients, o.json);
    options.record_attention = RecordAttention::all(), options.profile = profiling();
    print_relations(model, o.relations, options, o.json);
}

/// Options that take the place of an input: a file of texts, or the weights alone.
void add_other_inputs(CLI::App& command, HeadsOptions& o) {
    CLI::Option* prompts = add_option(
        command, "--prompts", o.prompts,
        "With --ablate or --gradients: the mean over the texts of this file, one per line; - reads stdin", "FILE");
    CLI::Option* relations =
        add_option(command, "--relations", o.relations,
                   "Which heads find the syntactic relations of the sentences of this CoNLL-U file", "FILE");
    CLI::Option* composition =
        command.add_flag("--composition", o.composition,
                         "How much heads read what heads of earlier layers write: Q-, K- and V-composition of their "
                         "weights; needs no input");
    for (CLI::Option* mode : {prompts, relations})
        for (const char* other : {"--prompt", "--ids", "--type-ids", "--image", "--decoder-ids", "--values", "--rank",
                                  "--permute", "--rollout", "--flow", "--sort", "--csv", "--png"})
            mode->excludes(other);
    for (const char* other : {"--ablate", "--gradients", "--prompts"}) relations->excludes(other);
    exclude_others(command, *composition, {"--model", "--weights", "--png", "--json"});
}

void add_choices(CLI::App& command, HeadsOptions& o) {
    add_option(command, "--sort", o.sort,
               "Sort heads by this statistic, in descending order; \"head\": model order. Default: salience, with "
               "--ablate loss_change, with --gradients gradient",
               "KEY")
        ->transform([](const std::string& key) { return names_of_key(key).shown; })
        ->check(CLI::IsMember(sort_keys()));
    command.add_flag("--values", o.values, "Also weight attention by the norms of the values, ‖v‖ and ‖W_O v‖");
    command.add_flag("--ablate", o.ablate,
                     "Remove each head, one at a time, and report the increase of the loss in nats (one run per head)");
    command
        .add_flag("--gradients", o.gradients,
                  "How much the loss changes with a factor of each head's output, |∂ loss|: one backward pass for all "
                  "heads")
        ->excludes("--ablate");
    command.add_flag(
        "--rank", o.rank,
        format("Effective rank of the attention and of the output of each head (at most {} tokens)", max_rank));
    CLI::Option* permute =
        add_option(
            command, "--permute", o.permutations,
            "Shuffle the weights that the prediction is made with this many times, one head at a time, and report "
            "the change of the prediction (heads × N runs)",
            "N")
            ->check(CLI::Range(1, 100000));
    add_setting(command, "--seed", o.seed, "Random seed of --permute")->needs(permute);
    command.add_flag("--rollout", o.rollout,
                     format("Attention rollout through all layers (at most {} tokens)", max_rollout));
    command.add_flag("--flow", o.flow, format("Attention flow through all layers (at most {} tokens)", max_flow));
    add_option(
        command, "--png", o.pictures,
        "Write patterns.png and layers.png, and with --rollout and --flow rollout.png and flow.png, to this folder; "
        "encoder–decoders get one of each per part, images also rollout-cls.png. With --composition: "
        "composition-q.png, -k and -v",
        "DIR");
    add_recording_options(command, o.input);
    for (const char* only_of_sessions : {"--attention-kind", "--global-tokens", "--global-at"})
        command.get_option("--gradients")->excludes(only_of_sessions);
    CLI::Option* as_json = command.add_flag("--json", o.json, "Print all statistics of all heads as one JSON object");
    command.add_flag("--csv", o.csv, "Print CSV: one line per head")->excludes(as_json);
}

}  // namespace

void add_heads(CLI::App& app) {
    auto o = std::make_shared<HeadsOptions>();
    CLI::App& command =
        add_command(app, "heads", "Statistics and patterns of all attention heads on a text or an image",
                    "docs/reading-attention.md defines the statistics and patterns, and their limits.\n\n"
                    "Examples:\n"
                    "  vantage heads -p \"The animal didn't cross the street because it was too tired.\"\n"
                    "  vantage heads -p \"The red boat is small. The red\" --ablate --png heads\n"
                    "  vantage heads -m models/bert --values --csv -p \"The dog chased the birds.\" > heads.csv\n"
                    "  vantage heads -m models/bart -p \"The dog chased the birds.\" --mask-heads x1.3\n"
                    "  vantage heads -m models/vit --image cat.jpg --rollout --png heads\n"
                    "  vantage heads -m models/bert --relations en_ewt-ud-dev.conllu\n"
                    "  vantage heads --ablate --prompts texts.txt --json\n"
                    "  vantage heads --composition --png heads");
    add_model_option(command);
    add_input_options(command, o->input);
    add_choices(command, *o);
    add_other_inputs(command, *o);
    CLI::Option* sort = command.get_option("--sort");
    command.callback([o, sort, &command] {
        for (const char* of_pictures : {"--rollout", "--flow"})
            refuse_unless(!o->csv || !o->pictures.empty(), command, of_pictures,
                          "has no place in CSV: give --png DIR, or --json");
        if (o->gradients && !is_given(*command.get_option("--precision"))) o->input.precision = "f32";
        if (!o->prompts.empty() && !o->ablate && !o->gradients)
            throw usage_error("heads: --prompts needs --ablate or --gradients");
        if (o->ablate && sort->count() == 0) o->sort = "loss_change";
        if (o->gradients && sort->count() == 0) o->sort = "gradient";
        run(*o);
    });
}

}  // namespace vantage::cli
