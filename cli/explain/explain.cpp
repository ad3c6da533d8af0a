// vantage explain: what a model is made of, what a token costs, where memory goes, and what runs for it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "cli/explain/explain_figures.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

struct ExplainOptions {
    std::int64_t tokens = 0;  // 0 = 64, or what the context holds
    std::string precision = "f16";
    SessionOptions session;
    bool json = false;
};

void run(ExplainOptions& o) {
    const Device device = open_device();
    const Model model = load_model(device);
    o.session.precision = precision_named(o.precision);
    Session session(model, o.session);
    const bool decoder = model.config().kind != ModelKind::encoder;
    const std::int64_t max_tokens =
        session.context() - (decoder ? 1 : 0);  // the token after the prompt has to fit, too
    if (o.tokens > max_tokens || max_tokens < 1)
        throw Error(ErrorKind::usage, format("{} of {} tokens{} not fit the context of {}",
                                             decoder ? "a prompt" : "a text", std::max<std::int64_t>(o.tokens, 1),
                                             decoder ? " and a token after it do" : " does", session.context()));
    if (model.config().is_vision()) o.tokens = max_tokens;  // an image is seen whole
    const std::int64_t tokens = o.tokens > 0 ? o.tokens : std::min<std::int64_t>(64, max_tokens);
    const Explanation e = explanation(model, session, tokens, o.session.precision);
    if (e.source) session.encoder_plan(tokens);
    for (const std::int64_t rows : e.plans) session.plan(rows);
    o.json ? print_json(e) : print_text(e);
}

}  // namespace

void add_explain(CLI::App& app) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App* command =
        app.add_subcommand("explain", "Show a model's parameters, costs, memory, and what runs for a token");
    command->footer(
        "Costs are those of the operations as fused; bytes are what each has to read and write at least. Formulas are "
        "in the "
        "symbols of the first lines.\nExample:\n  "
        "vantage explain --tokens 100 --ctx 512");
    add_model_option(*command);
    command->add_option("--tokens", o->tokens, "Length of the prompt; 0 = 64, or what the context holds")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("-c,--ctx,--context", o->session.context,
                     "Context in tokens; 0 = what the model allows and the memory holds")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_precision_option(*command, o->precision);
    command->add_flag("--json", o->json, "One JSON object on stdout");
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
