// vantage explain: parameters, costs, memory and the execution plan of a model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/explain/block_diagram.h"
#include "cli/explain/explain_json.h"
#include "cli/explain/explain_text.h"
#include "cli/explain/explain_training.h"
#include "cli/explain/position_picture.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/output.h"
#include "cli/shared/step_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::cli {

namespace {

struct ExplainOptions {
    std::int64_t tokens = 0;  // 0: 64, or the context if it is shorter
    std::string precision = "f16";
    SessionOptions session;
    std::string diagram, positions, formula;
    std::int64_t width = 512, heads = 8;  // of a formula
    bool json = false;
    bool train = false;
    TrainingChoice training;
};

constexpr std::int64_t drawn_positions = 256, formula_positions = 128;

/// Positions by a formula, without a model.
void run_formula(const ExplainOptions& o) {
    const std::int64_t tokens = o.tokens > 0 ? o.tokens : formula_positions;
    if (tokens > 1000) throw usage_error("explain: --kind draws at most 1000 positions, not {}", tokens);
    if (o.width % 2 != 0) throw usage_error("explain: --width must be even, not {}", o.width);
    const std::vector<PositionScheme> schemes{position_formula(o.formula, tokens, o.width, o.heads)};
    write_positions(o.positions, o.formula + " positions", schemes);
    o.json ? write_json({{"schema_version", 2}, {"positions", positions_json(schemes)}}) : print_positions(schemes);
}

void run(ExplainOptions& o) {
    if (!o.diagram.empty()) require_picture_name(o.diagram);
    if (!o.positions.empty() && !o.positions.ends_with(".png"))
        throw usage_error("explain: {}: the picture of positions must end in .png", o.positions);
    if (!o.formula.empty()) return run_formula(o);
    const Model model = load_model(open_device());
    o.session.precision = precision_named(o.precision);
    Session session(model, o.session);
    const bool decoder = config_of(model).kind != ModelKind::encoder;
    const std::int64_t max_tokens = session.context() - (decoder ? 1 : 0);  // the token after the prompt must fit, too
    if (o.tokens > max_tokens || max_tokens < 1)
        throw usage_error("explain: {} of {} tokens{} not fit the context of {}; use a larger --ctx",
                          decoder ? "a prompt" : "a text", std::max<std::int64_t>(o.tokens, 1),
                          decoder ? " and the token after it do" : " does", session.context());
    if (config_of(model).is_vision()) o.tokens = max_tokens;  // an image has a fixed length
    const std::int64_t tokens = o.tokens > 0 ? o.tokens : std::min<std::int64_t>(64, max_tokens);
    Explanation e = explanation(model, session, tokens, o.session);
    if (e.source) session.encoder_plan(e.source_tokens);
    for (const std::int64_t rows : e.plans) session.plan(rows);
    if (!o.diagram.empty()) {
        const FlowChart chart = block_diagram(model);
        write_drawing(o.diagram, draw_flow_chart(chart), chart.title);
    }
    if (!o.positions.empty()) {
        e.positions = position_schemes(model, session, std::min(session.context(), drawn_positions));
        if (e.positions->empty())
            log(LogLevel::warning, "{} has no positions to draw: {} is not written", model.info().name, o.positions);
        else
            write_positions(o.positions, model.info().name + ": positions", *e.positions);
    }
    o.json ? print_json(e) : print_text(e);
}

void run_training(ExplainOptions& o, const CLI::App& command) {
    if (!o.training.config.empty() && is_given(*command.get_option("--model")))
        throw usage_error("explain: -m and --config are two models: give one of them");
    o.training.context = o.session.context;
    if (command.get_option("--precision")->count() > 0) o.training.precision = precision_named(o.precision);
    const TrainingExplanation e = training_explanation(open_device(), o.training);
    o.json ? print_json(e) : print_text(e);
}

/// Those of a step of training where none is explained, and the other way round.
void refuse_other_options(const CLI::App& command, bool train) {
    using Names = std::vector<const char*>;
    for (const char* name : train ? Names{"--tokens", "--weights", "--cache", "--svg", "--positions"}
                                  : Names{"--config", "--batch", "--recompute"})
        refuse_unless(false, command, name, train ? "is not for --train" : "is only for --train");
}

void add_step_options(CLI::App& command, ExplainOptions& o) {
    command.add_flag("--train", o.train,
                     "Explain a step of training, forward, backward and update: AdamW, no dropout; -c are the tokens "
                     "of a sequence; f32 unless --precision says f16");
    add_option(command, "--config", o.training.config, "With --train: config.json of a new model, in place of -m",
               "FILE");
    add_option(command, "--batch", o.training.sequences,
               "With --train: sequences of a micro-batch. Default: as many as have 4096 tokens", "N")
        ->check(CLI::Range(std::int64_t{1}, max_sequences));
    CLI::Option* recompute = add_recompute_option(command, o.training.recompute);
    recompute->description("With --train: " + recompute->get_description());
}

void add_position_options(CLI::App& command, ExplainOptions& o) {
    CLI::Option* positions =
        add_option(command, "--positions", o.positions,
                   "Also draw how the model tells positions apart, and say it in words: sinusoids, a learned table, "
                   "rotation, ALiBi, distance biases (.png)",
                   "FILE");
    CLI::Option* kind = add_option(command, "--kind", o.formula,
                                   "With --positions: draw this formula instead, without a model; --tokens, default "
                                   "128, are its positions",
                                   "KIND");
    kind->check(CLI::IsMember({"sinusoidal", "rope", "alibi", "t5"}))->needs(positions);
    add_any_option(command, "--width", o.width,
                   "With --kind: features of sinusoids, or of a rotated head; an even number")
        ->capture_default_str()
        ->check(CLI::Range(2, 2048))
        ->needs(kind);
    add_any_option(command, "--heads", o.heads, "With --kind alibi: heads")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024))
        ->needs(kind);
}

}  // namespace

void add_explain(CLI::App& app) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App& command = add_command(
        app, "explain", "Show the parameters, costs, memory and execution plan of a model",
        "Costs are those of the fused operations. Bytes are the minimum that each must read and write. The first "
        "lines define the symbols of the formulas.\nExamples:\n  vantage explain --tokens 100 --ctx 512\n  vantage "
        "explain -m models/bart --svg bart.svg\n  vantage explain --train -m models/gpt2 --batch 4\n  vantage explain "
        "--positions sinusoids.png --kind sinusoidal --width "
        "512");
    add_model_option(command);
    add_setting(command, "--tokens", o->tokens,
                "Length of the prompt in tokens; 0: 64, or the context if it is shorter")
        ->check(zero_or_more);
    add_setting(command, "-c,--ctx,--context", o->session.context,
                "Context length in tokens; 0: the model's maximum, or less if memory is short")
        ->check(zero_or_more);
    add_precision_option(command, o->precision);
    add_cache_option(command, o->session.cache);
    add_option(command, "--svg,--diagram", o->diagram,
               "Also draw the model's blocks with the shapes of their tensors: .svg, or .png", "FILE");
    add_position_options(command, *o);
    add_step_options(command, *o);
    command.add_flag("--json", o->json, "Print one JSON object");
    exclude_others(command, *command.get_option("--kind"), {"--positions", "--width", "--heads", "--tokens", "--json"});
    command.callback([o, &command] {
        refuse_other_options(command, o->train);
        const std::string why = "has no effect on --kind " + o->formula;
        refuse_unless(o->formula == "sinusoidal" || o->formula == "rope", command, "--width", why);
        refuse_unless(o->formula == "alibi", command, "--heads", why);
        o->train ? run_training(*o, command) : run(*o);
    });
}

}  // namespace vantage::cli
