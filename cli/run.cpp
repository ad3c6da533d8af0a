// vantage run: continues a prompt, streaming the text.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "profile.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "vantage/session.h"

namespace vantage::cli {

namespace {

struct RunOptions {
    std::string prompt, precision = "f16";
    Sampling sampling = usual_sampling;
    GeneratorOptions generator;
    bool json = false;
};

// Text may hold any byte, and what cannot be written is an error.
void write_out(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw Error(ErrorKind::bad_file, std::string("stdout: cannot be written: ") + std::strerror(errno));
}

double rate(std::int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

void write_json(const Model& model, const std::string& prompt, const std::string& text, Session& session,
                Ending ending) {
    const SessionStats& s = session.stats();
    const std::vector<std::int32_t>& tokens = session.tokens();
    const auto prompt_tokens = std::ssize(tokens) - static_cast<std::ptrdiff_t>(s.generated_tokens);
    nlohmann::json json = {{"schema_version", 1},
                           {"model", model.info().name},
                           {"device", model.device().caps().name},
                           {"prompt", prompt},
                           {"text", text},
                           {"ids", std::vector<std::int32_t>(tokens.begin() + prompt_tokens, tokens.end())},
                           {"ending", name_of(ending)},
                           {"prompt_tokens", prompt_tokens},
                           {"generated_tokens", s.generated_tokens},
                           {"prompt_tokens_per_second", rate(s.prompt_tokens, s.prompt_seconds)},
                           {"generated_tokens_per_second", rate(s.generated_tokens, s.generate_seconds)}};
    write_out(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// What the model recommends holds where nothing else was asked for.
void apply_recommended(const CLI::App& command, const Sampling& recommended, Sampling& sampling) {
    const auto typed = [&](const char* option) { return command.get_option(option)->count() > 0; };
    if (!typed("--temp")) sampling.temperature = recommended.temperature;
    if (!typed("--top-k")) sampling.top_k = recommended.top_k;
    if (!typed("--top-p")) sampling.top_p = recommended.top_p;
    if (!typed("--repeat-penalty")) sampling.repeat_penalty = recommended.repeat_penalty;
}

void run(const CLI::App& command, RunOptions& o) {
    if (o.prompt == "-") o.prompt = read_stdin();
    ProfileWriter profile(common().profile);
    const Device device = profile.timed("open device", [] { return open_device(); });
    const Model model = profile.timed("load model", [&] { return load_model(device); });
    apply_recommended(command, recommended_sampling(model), o.sampling);
    o.generator.session.precision = precision_named(o.precision);
    o.generator.session.profile = static_cast<bool>(profile);
    Generator generator(model, o.sampling, o.generator);
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
    CLI::App* command = app.add_subcommand("run", "Continue a prompt");
    command->footer("Example:\n  vantage run -p \"Mia put the red key in the box.\" -n 40 --temp 0.7");
    add_model_option(*command);
    Sampling& s = o->sampling;
    SessionOptions& session = o->generator.session;
    command->add_option("-p,--prompt", o->prompt, "Text to continue; - reads stdin")->required();
    command->add_option("-n,--n-predict", o->generator.max_tokens, "Tokens to generate at most")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    command->add_option("--temp", s.temperature, "Temperature; 0 takes the most probable token")->capture_default_str();
    command->add_option("--top-k", s.top_k, "Keep the k most probable tokens; 0 = all")->capture_default_str();
    command->add_option("--top-p", s.top_p, "Keep the smallest set of tokens of at least this mass")
        ->capture_default_str();
    command->add_option("--min-p", s.min_p, "Keep tokens of at least this share of the most probable one")
        ->capture_default_str();
    command
        ->add_option("--repeat-penalty", s.repeat_penalty, "Divide positive logits of tokens that were there; 1 = off")
        ->capture_default_str();
    command->add_option("--stop", o->generator.stop, "End at this text; may be given several times")->type_name("TEXT");
    command->add_option("-s,--seed", s.seed, "The same seed gives the same text")->capture_default_str();
    command
        ->add_option("-c,--ctx", session.context, "Context in tokens; 0 = what the model allows and the memory holds")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    command
        ->add_option("--precision", o->precision, "f16: keys and values in half precision; f32: everything in single")
        ->check(CLI::IsMember({"f16", "f32"}))
        ->capture_default_str();
    command->add_flag("--ignore-eos", s.ignore_end, "Go on after the model's end tokens");
    command->add_flag("--json", o->json, "One JSON object on stdout when the text is complete");
    command->callback([o, command] { run(*command, *o); });
}

}  // namespace vantage::cli
