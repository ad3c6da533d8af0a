// vantage prune: writes a model without some of its attention heads.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "cli/heads/importance.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/errors.h"
#include "runtime/checkpoint/prune_heads.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct PruneOptions {
    std::string heads, prompts, output;
    double keep = 0;
    bool even = false, json = false;
};

/// The least important heads, so that a share `keep` of all stays; with `even` of each layer, and there of each key
/// head.
std::vector<HeadId> least_important(const Model& model, Ablation ablation, double keep, bool even) {
    std::ranges::stable_sort(ablation.heads, {}, &Ablation::Head::change);
    using Group = std::tuple<AttentionKind, std::int64_t, std::int64_t>;
    const auto group_of = [&](const HeadId& head) {
        const std::int64_t query_heads = model.info().heads_of(head.kind),
                           key_heads = head.kind == AttentionKind::encoder ? query_heads : model.info().kv_heads;
        // without groups of query heads, key heads are heads like others
        const std::int64_t key_head = query_heads == key_heads ? 0 : head.head * key_heads / query_heads;
        return even ? Group{head.kind, head.layer, key_head} : Group{};
    };
    std::map<Group, std::int64_t> sizes, removed;
    for (const Ablation::Head& head : ablation.heads) ++sizes[group_of(head.place)];
    std::vector<HeadId> heads;
    for (const Ablation::Head& head : ablation.heads) {
        const Group group = group_of(head.place);
        const auto size = static_cast<double>(sizes[group]);
        if (removed[group] >= static_cast<std::int64_t>(size - std::ceil(keep * size - 1e-9))) continue;
        ++removed[group];
        heads.push_back(head.place);
    }
    if (heads.empty())
        throw usage_error("prune: --keep-fraction {:g} of {} heads{} removes none; give a smaller one", keep,
                          even ? sizes.begin()->second : std::ssize(ablation.heads), even ? " that go together" : "");
    return heads;
}

std::vector<HeadId> chosen_heads(const PruneOptions& o) {
    if (!o.heads.empty()) return *masked_heads(o.heads);
    const Model model = load_model(open_device());
    require_attention(model.info(), "prune");
    const SessionOptions options{.precision = Precision::f32};
    const std::vector<ModelInput> inputs = read_prompts("prune", o.prompts, model, options);
    Ablation unmeasured;
    for (const HeadId& head : all_heads(model)) unmeasured.heads.push_back({head, 0, {}});
    least_important(model, unmeasured, o.keep, o.even);  // throws if no head would be removed
    return least_important(model, ablate(model, inputs, options_for(inputs, options)), o.keep, o.even);
}

void run(const PruneOptions& o) {
    require_new_folder(o.output);
    std::vector<HeadId> heads = chosen_heads(o);
    std::ranges::sort(heads, {}, [](const HeadId& head) { return std::tuple(head.kind, head.layer, head.head); });
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    const std::string from = model_folder();
    const PrunedModel pruned = prune_heads(from, o.output, heads);
    const auto name = [](const HeadId& head) { return name_of(head); };
    if (o.json)
        return write_json({{"schema_version", 1},
                           {"model", from},
                           {"heads", json_list(heads, name)},
                           {"smaller", pruned.smaller},
                           {"parameters_before", pruned.parameters_before},
                           {"parameters_after", pruned.parameters_after},
                           {"output", o.output}});
    const Page page;
    print_line("{} {}", page.bold("removed"), join(heads, " ", name));
    if (pruned.smaller)
        print_line("{} {} parameters instead of {}", page.bold("smaller"), pruned.parameters_after,
                   pruned.parameters_before);
    else
        print_line("{} their features are 0 in the output projections {}", page.bold("same size"),
                   page.dim("(smaller only where all layers lose as many heads, docs/reading-attention.md)"));
    print_line("{} {}", page.bold("wrote"), o.output);
}

}  // namespace

void add_prune(CLI::App& app) {
    auto o = std::make_shared<PruneOptions>();
    CLI::App& command = add_command(
        app, "prune", "Write a model without some of its attention heads",
        "The new model gives what --mask-heads gives. docs/reading-attention.md says when it is smaller.\n\n"
        "Examples:\n  vantage prune --heads 0.1,3.2 -o pruned\n"
        "  vantage prune -m models/llama --keep-fraction 0.75 --even --prompts texts.txt -o pruned");
    add_model_option(command);
    CLI::Option* heads =
        add_option(command, "--heads", o->heads, "Remove these heads, spelled as in --mask-heads: 3.2,5.0", "HEADS");
    CLI::Option* prompts = add_option(command, "--prompts", o->prompts,
                                      "Measure the importance of each head on this file with one text per line, as "
                                      "`vantage heads --ablate --prompts` does; - reads stdin",
                                      "FILE")
                               ->excludes(heads);
    CLI::Option* keep =
        command
            .add_option("--keep-fraction", o->keep,
                        "Keep this share of the heads, from 0 to 1: the most important ones")
            ->check(number_check(" above 0 and below 1", "FRACTION", [](double x) { return x > 0 && x < 1; }))
            ->excludes(heads)
            ->needs(prompts);
    prompts->needs(keep);
    command
        .add_flag("--even", o->even,
                  "Remove as many heads from each layer, and from each group of heads that share keys, so that "
                  "matrices can become smaller")
        ->needs(keep);
    add_option(command, "-o,--output", o->output, "New folder for the model", "DIR")->required();
    command.add_flag("--json", o->json, "Print the result as one JSON object");
    command.callback([o, &command] {
        if (o->heads.empty() && o->prompts.empty())
            throw usage_error("prune: give --heads LAYER.HEAD,…, or --keep-fraction and --prompts FILE");
        refuse_unless(!o->prompts.empty(), command, "--weights", "is for --prompts: weights are copied as they are");
        run(*o);
    });
}

}  // namespace vantage::cli
