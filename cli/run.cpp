// vantage run: continues a prompt, streaming the text.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "generation_options.h"
#include "profile.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "vantage/session.h"

namespace vantage::cli {

namespace {

struct RunOptions {
    std::string prompt;
    GenerationOptions generation;
    bool json = false;
};

double rate(std::int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

void write_json(const Model& model, const std::string& prompt, const std::string& text, Session& session,
                Ending ending) {
    const SessionStats& s = session.stats();
    const std::vector<std::int32_t>& tokens = session.tokens();
    const std::ptrdiff_t before = std::ssize(tokens) - static_cast<std::ptrdiff_t>(s.generated_tokens);
    const std::ptrdiff_t read = std::ssize(session.source_tokens());  // by an encoder
    const std::ptrdiff_t prompt_tokens = read > 0 ? read : before;
    nlohmann::json all = {{"schema_version", 1},
                          {"model", model.info().name},
                          {"device", model.device().caps().name},
                          {"prompt", prompt},
                          {"text", text},
                          {"ids", std::vector<std::int32_t>(tokens.begin() + before, tokens.end())},
                          {"ending", name_of(ending)},
                          {"prompt_tokens", prompt_tokens},
                          {"generated_tokens", s.generated_tokens},
                          {"prompt_tokens_per_second", rate(s.prompt_tokens, s.prompt_seconds)},
                          {"generated_tokens_per_second", rate(s.generated_tokens, s.generate_seconds)}};
    write_out(all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void run(const CLI::App& command, RunOptions& o) {
    if (o.prompt == "-") o.prompt = read_stdin();
    ProfileWriter profile(common().profile);
    const Device device = profile.timed("open device", [] { return open_device(); });
    const Model model = profile.timed("load model", [&] { return load_model(device); });
    o.generation.generator.session.profile = static_cast<bool>(profile);
    Generator generator = make_generator(command, model, o.generation);
    profile.device_begins();
    std::string text;
    const Ending ending = profile.timed("generate", [&] {
        return generator.generate(o.prompt, [&](const Token& token) {
            text += token.text;
            if (!o.json) write_out(token.text);
            return true;
        });
    });
    if (o.json)
        write_json(model, o.prompt, text, generator.session(), ending);
    else
        write_out("\n");
    if (ending == Ending::context_full)
        log(LogLevel::warning, "the context of %lld tokens is full",
            static_cast<long long>(generator.session().context()));
    const SessionStats& s = generator.session().stats();
    if (!common().quiet)
        std::fprintf(stderr, "prompt %lld tokens, %.1f tokens/s; generated %lld tokens, %.1f tokens/s\n",
                     static_cast<long long>(s.prompt_tokens), rate(s.prompt_tokens, s.prompt_seconds),
                     static_cast<long long>(s.generated_tokens), rate(s.generated_tokens, s.generate_seconds));
    profile.write(device, generator.session());
}

}  // namespace

void add_run(CLI::App& app) {
    auto o = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Continue a prompt; with an encoder–decoder, answer it");
    command->footer("Example:\n  vantage run -p \"Mia put the red key in the box.\" -n 40 --temp 0.7");
    add_model_option(*command);
    command->add_option("-p,--prompt", o->prompt, "Text to continue, or that the encoder reads; - reads stdin")
        ->required();
    add_generation_options(*command, o->generation);
    command->add_flag("--json", o->json, "One JSON object on stdout when the text is complete");
    command->callback([o, command] { run(*command, *o); });
}

}  // namespace vantage::cli
