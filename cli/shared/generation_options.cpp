#include "cli/shared/generation_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/shared/head_mask.h"

namespace vantage::cli {

void add_precision_option(CLI::App& command, std::string& precision) {
    command
        .add_option(
            "--precision", precision,
            "f16: keys and values in half precision, and matrix units may round what they multiply; f32: "
            "everything in single; int8: as f16, and what meets weights in 8 or 4 bits may be rounded to 8 bits")
        ->check(CLI::IsMember({"f16", "f32", "int8"}))
        ->capture_default_str();
}

void add_generation_options(CLI::App& command, GenerationOptions& o) {
    Sampling& s = o.sampling;
    SessionOptions& session = o.generator.session;
    command.add_option("-n,--n-predict", o.generator.max_tokens, "Tokens to generate at most")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    command.add_option("--temp", s.temperature, "Temperature; 0 takes the most probable token")->capture_default_str();
    command.add_option("--top-k", s.top_k, "Keep the k most probable tokens; 0 = all")->capture_default_str();
    command.add_option("--top-p", s.top_p, "Keep the smallest set of tokens of at least this mass")
        ->capture_default_str();
    command.add_option("--min-p", s.min_p, "Keep tokens of at least this share of the most probable one")
        ->capture_default_str();
    command
        .add_option("--repeat-penalty", s.repeat_penalty, "Divide positive logits of tokens that were there; 1 = off")
        ->capture_default_str();
    command.add_option("--stop", o.generator.stop, "End at this text; may be given several times")->type_name("TEXT");
    command.add_option("-s,--seed", s.seed, "The same seed gives the same text")->capture_default_str();
    command
        .add_option("-c,--ctx,--context", session.context,
                    "Context in tokens; 0 = what the model allows and the memory holds")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    add_precision_option(command, o.precision);
    add_head_mask_option(command, o.masked);
    command.add_flag("--ignore-eos", s.ignore_end, "Go on after the model's end tokens");
}

GenerationOptions completed(const CLI::App& command, const Model& model, GenerationOptions o) {
    const Sampling recommended = recommended_sampling(model);
    const auto typed = [&](const char* option) { return command.get_option(option)->count() > 0; };
    if (!typed("--temp")) o.sampling.temperature = recommended.temperature;
    if (!typed("--top-k")) o.sampling.top_k = recommended.top_k;
    if (!typed("--top-p")) o.sampling.top_p = recommended.top_p;
    if (!typed("--repeat-penalty")) o.sampling.repeat_penalty = recommended.repeat_penalty;
    o.generator.session.precision = precision_named(o.precision);
    o.generator.session.masked_heads = masked_heads(o.masked);
    return o;
}

Generator make_generator(const CLI::App& command, const Model& model, const GenerationOptions& options) {
    const GenerationOptions o = completed(command, model, options);
    return {model, o.sampling, o.generator};
}

void write_out(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw Error(ErrorKind::bad_file, std::string("stdout: cannot be written: ") + std::strerror(errno));
}

}  // namespace vantage::cli
