// vantage explain: parameters, costs, memory and the execution plan of a model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/explain/explain_json.h"
#include "cli/explain/explain_text.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "runtime/base/errors.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct ExplainOptions {
    std::int64_t tokens = 0;  // 0: 64, or the context if it is shorter
    std::string precision = "f16";
    SessionOptions session;
    bool json = false;
};

void run(ExplainOptions& o) {
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
    const Explanation e = explanation(model, session, tokens, o.session.precision);
    if (e.source) session.encoder_plan(tokens);
    for (const std::int64_t rows : e.plans) session.plan(rows);
    o.json ? print_json(e) : print_text(e);
}

}  // namespace

void add_explain(CLI::App& app) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App& command = add_command(
        app, "explain", "Show the parameters, costs, memory and execution plan of a model",
        "Costs are those of the fused operations. Bytes are the minimum that each must read and write. The first "
        "lines define the symbols of the formulas.\nExample:\n  vantage explain --tokens 100 --ctx 512");
    add_model_option(command);
    add_setting(command, "--tokens", o->tokens,
                "Length of the prompt in tokens; 0: 64, or the context if it is shorter")
        ->check(zero_or_more);
    add_setting(command, "-c,--ctx,--context", o->session.context,
                "Context length in tokens; 0: the model's maximum, or less if memory is short")
        ->check(zero_or_more);
    add_precision_option(command, o->precision);
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
