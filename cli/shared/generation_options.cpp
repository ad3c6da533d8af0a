#include "cli/shared/generation_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>

#include "cli/shared/command_options.h"
#include "cli/shared/loaded_model.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/session/weight_types.h"

namespace vantage::cli {

namespace {

const std::string float_precisions =
    "f16: f16 key-value cache, and matrix products may round f32 operands to f16; f32: no rounding";

std::string check_recording_precision(const std::string& word) {
    return word == "f16" || word == "f32" || word == "int8" ? "" : word + " not in {f16,f32}";
}

/// Removes the prefix and returns the attention kind that it means.
AttentionKind take_kind(std::string_view& text) {
    const char letter = text.empty() ? '\0' : text.front();
    if (letter == 'e' || letter == 'd' || letter == 'x') text.remove_prefix(1);
    return letter == 'e' ? AttentionKind::encoder : letter == 'x' ? AttentionKind::cross : AttentionKind::self;
}

HeadId head_named(std::string_view name) {
    std::string_view text = name;
    HeadId place{.kind = take_kind(text)};
    const char *begin = text.data(), *end = begin + text.size();
    const auto layer = std::from_chars(begin, end, place.layer);
    if (layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.') {
        const auto head = std::from_chars(layer.ptr + 1, end, place.head);
        if (head.ec == std::errc() && head.ptr == end && place.layer >= 0 && place.head >= 0) return place;
    }
    throw usage_error(
        "--mask-heads: \"{}\" is not a head; give layer.head, both from 0: 3.2,5.0 (encoder–decoders: also e0.2, d1.0 "
        "and x1.3)",
        name);
}

}  // namespace

void add_precision_option(CLI::App& command, std::string& precision) {
    add_setting(
        command, "--precision", precision,
        float_precisions + "; int8: like f16, and activations may be rounded to 8 bits where weights are q8 or q4")
        ->check(CLI::IsMember({"f16", "f32", "int8"}));
}

void add_cache_option(CLI::App& command, std::optional<DType>& type) {
    command
        .add_option_function<std::string>(
            "--cache", [&type](const std::string& word) { type = weight_types.at(word); },
            "Storage of keys and values: f32, f16, or quantized in blocks of 32 to 8 bits (q8) or 4 bits (q4). "
            "Default: f16, or f32 with --precision f32")
        ->type_name("TYPE")
        ->check(CLI::IsMember({"f32", "f16", "q8", "q4"}));
}

void add_stable_option(CLI::App& command, bool& stable) {
    command.add_flag("--stable", stable,
                     "Same results to the last bit whatever runs beside a text or ran before it: other prompts, "
                     "--batch, --ctx, turns of a chat. Slower. Always so with --precision f32");
}

void add_variant_option(CLI::App& command, AttentionVariant& variant) {
    command
        .add_option_function<std::string>(
            "--attention-kind", [&variant](const std::string& word) { variant = attention_variant_named(word); },
            "Replace the softmax of self-attention: linear, performer:N (features), hard, window:N, dilated:N, "
            "strided:N, bigbird:N (tokens of a block), additive, multiplicative or linformer:N. The last three need "
            "weights in the model (docs/models.md)")
        ->type_name("KIND");
}

std::string variant_text(const AttentionVariant& variant) {
    return variant.form == AttentionForm::own ? "" : " · attention kind " + name_of(variant);
}

void add_recording_precision_option(CLI::App& command, std::string& precision) {
    add_setting(command, "--precision", precision, float_precisions)
        ->check(CLI::Validator(check_recording_precision, "{f16,f32}"));
}

Precision recording_precision(const std::string& precision) {
    const Precision wanted = precision_named(precision);
    if (wanted != Precision::int8) return wanted;
    fall_back("--precision int8: a session that records attention does not round to int8; it uses f16");
    return Precision::f16;
}

namespace {

void add_grammar_options(CLI::App& command, GenerationOptions& o) {
    auto* gbnf = add_option(command, "--grammar", o.grammar_file,
                            "Generate only what a grammar in this file allows, in llama.cpp's GBNF", "FILE");
    auto* schema = add_option(command, "--json-schema", o.json_schema_file,
                              "Generate only JSON that the JSON schema in this file allows; object: any JSON object",
                              "FILE|object");
    auto* regex = add_option(command, "--regex", o.regex,
                             "Generate only what this regular expression matches as a whole", "PATTERN");
    gbnf->check(not_empty)->excludes(schema)->excludes(regex);
    schema->check(not_empty)->excludes(regex);
    regex->check(not_empty);
}

std::optional<Grammar> grammar_of(const GenerationOptions& o) {
    constexpr std::size_t largest = std::size_t{1} << 20;
    if (!o.regex.empty()) return Grammar::regex(o.regex);
    if (!o.grammar_file.empty()) return Grammar::gbnf(read_file(o.grammar_file, largest));
    if (o.json_schema_file == "object") return Grammar::json_object();
    if (!o.json_schema_file.empty()) return Grammar::json_schema(read_file(o.json_schema_file, largest));
    return std::nullopt;
}

}  // namespace

void add_generation_options(CLI::App& command, GenerationOptions& o) {
    Sampling& s = o.sampling;
    add_setting(command, "-n,--n-predict", o.generator.max_tokens, "Maximum number of tokens to generate")
        ->check(zero_or_more);
    add_setting(command, "--temp", s.temperature,
                "Sampling temperature; 0: greedy, whatever --seed, --top-k, --top-p and --min-p are");
    add_setting(command, "--top-k", s.top_k, "Sample from the K most probable tokens; 0: all");
    add_setting(command, "--top-p", s.top_p,
                "Sample from the most probable tokens whose probabilities add up to this; 1: all");
    add_setting(command, "--min-p", s.min_p,
                "Sample from tokens with at least this probability relative to the most probable one; 0: all");
    add_setting(command, "--repeat-penalty", s.repeat_penalty,
                "Divide positive logits of earlier tokens by this, and multiply negative ones; 1: off");
    add_option(command, "--stop", o.generator.stop,
               "Stop at this text, which is not printed; can be given several times", "TEXT")
        ->check(not_empty);
    add_grammar_options(command, o);
    add_setting(command, "-s,--seed", s.seed, "Random seed; the same seed gives the same text (see --stable)");
    add_setting(command, "-c,--ctx,--context", o.generator.session.context,
                "Context length in tokens; 0: the model's maximum, or less if memory is short (LongRoPE: its "
                "original context)")
        ->check(zero_or_more);
    add_precision_option(command, o.precision);
    add_cache_option(command, o.generator.session.cache);
    add_stable_option(command, o.generator.session.stable);
    add_variant_option(command, o.generator.session.variant);
    add_head_mask_option(command, o.masked);
    add_dump_option(command, o.generator.session.dump, "Write the node whose result is not finite, if any,");
    command.add_flag("--ignore-eos", s.ignore_end, "Do not stop at the model's end tokens");
    add_recover_option(command, o.recover);
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
    o.sampling.grammar = grammar_of(o);
    o.generator.session.token_bias = o.sampling.uses_bias();
    return o;
}

Generator make_generator(const CLI::App& command, const Model& model, const GenerationOptions& options) {
    const GenerationOptions o = completed(command, model, options);
    return {model, o.sampling, o.generator};
}

void add_head_mask_option(CLI::App& command, std::string& heads) {
    add_option(command, "--mask-heads", heads,
               "Set the output of these heads to 0; layer.head, both from 0: 3.2,5.0. Encoder–decoders: e0.2 "
               "encoder, d1.0 or 1.0 decoder self-attention, x1.3 cross-attention",
               "HEADS")
        ->check(not_empty);
}

std::optional<std::vector<HeadId>> masked_heads(const std::string& heads) {
    if (heads.empty()) return std::nullopt;
    std::vector<HeadId> places;
    for (std::size_t begin = 0; begin <= heads.size();) {
        const std::size_t end = std::min(heads.find(',', begin), heads.size());
        places.push_back(head_named(std::string_view(heads).substr(begin, end - begin)));
        begin = end + 1;
    }
    return places;
}

}  // namespace vantage::cli
