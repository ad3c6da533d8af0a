#include "cli/shared/generation_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/shared/command_options.h"
#include "cli/shared/head_mask.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"

namespace vantage::cli {

namespace {
const std::string float_precisions =
    "f16: f16 key-value cache, and matrix products may round f32 operands to f16; f32: no rounding";

std::string check_recording_precision(const std::string& word) {
    return word == "f16" || word == "f32" || word == "int8" ? "" : word + " not in {f16,f32}";
}
}  // namespace

void add_precision_option(CLI::App& command, std::string& precision) {
    command
        .add_option(
            "--precision", precision,
            float_precisions + "; int8: like f16, and activations may be rounded to 8 bits where weights are q8 or q4")
        ->check(CLI::IsMember({"f16", "f32", "int8"}))
        ->capture_default_str();
}

void add_recording_precision_option(CLI::App& command, std::string& precision) {
    command.add_option("--precision", precision, float_precisions)
        ->check(CLI::Validator(check_recording_precision, "{f16,f32}"))
        ->capture_default_str();
}

Precision recording_precision(const std::string& precision) {
    const Precision wanted = precision_named(precision);
    if (wanted != Precision::int8) return wanted;
    fall_back("--precision int8: a session that records attention does not round to int8; it uses f16");
    return Precision::f16;
}

void add_generation_options(CLI::App& command, GenerationOptions& o) {
    Sampling& s = o.sampling;
    SessionOptions& session = o.generator.session;
    command.add_option("-n,--n-predict", o.generator.max_tokens, "Maximum number of tokens to generate")
        ->capture_default_str()
        ->check(zero_or_more);
    command.add_option("--temp", s.temperature, "Sampling temperature; 0: greedy")->capture_default_str();
    command.add_option("--top-k", s.top_k, "Sample from the K most probable tokens; 0: all")->capture_default_str();
    command
        .add_option("--top-p", s.top_p,
                    "Sample from the most probable tokens whose probabilities add up to this; 1: all")
        ->capture_default_str();
    command
        .add_option("--min-p", s.min_p,
                    "Sample from tokens with at least this probability relative to the most probable one; 0: all")
        ->capture_default_str();
    command
        .add_option("--repeat-penalty", s.repeat_penalty,
                    "Divide positive logits of earlier tokens by this, and multiply negative ones; 1: off")
        ->capture_default_str();
    add_option(command, "--stop", o.generator.stop,
               "Stop at this text, which is not printed; can be given several times", "TEXT");
    command.add_option("-s,--seed", s.seed, "Random seed; the same seed gives the same text")->capture_default_str();
    command
        .add_option("-c,--ctx,--context", session.context,
                    "Context length in tokens; 0: the model's maximum, or less if memory is short")
        ->capture_default_str()
        ->check(zero_or_more);
    add_precision_option(command, o.precision);
    add_head_mask_option(command, o.masked);
    command.add_flag("--ignore-eos", s.ignore_end, "Do not stop at the model's end tokens");
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
        throw bad_file_error("cannot write to stdout: {}", std::strerror(errno));
}

}  // namespace vantage::cli
