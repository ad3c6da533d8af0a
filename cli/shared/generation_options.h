// Options of sessions: --precision, --stable, --mask-heads, and the sampling of `run` and `chat`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/cli11.h"
#include "vantage/session.h"

namespace vantage::cli {

struct GenerationOptions {
    Sampling sampling = default_sampling;
    GeneratorOptions generator = {};
    std::string precision = "f16", masked;              ///< masked: the value of --mask-heads
    std::string grammar_file, json_schema_file, regex;  ///< at most one of them is given
    bool recover = false;
};
/// --precision f16|f32|int8; the default is the current value of `precision`.
void add_precision_option(CLI::App& command, std::string& precision);
/// --cache: storage of keys and values (SessionOptions::cache).
void add_cache_option(CLI::App& command, std::optional<DType>& type);
/// --stable (SessionOptions::stable), for commands whose texts may run beside others or go on.
void add_stable_option(CLI::App& command, bool& stable);
/// --attention-kind (SessionOptions::variant).
void add_variant_option(CLI::App& command, AttentionVariant& variant);
/// " · attention kind linear", or nothing for the model's own.
std::string variant_text(const AttentionVariant& variant);
/// --precision for a session that records attention: f16 or f32. It does not refuse int8; see recording_precision.
void add_recording_precision_option(CLI::App& command, std::string& precision);
/// The precision of a session that records attention. Such a session does not round to int8: for int8 it uses f16 and
/// reports the fallback.
Precision recording_precision(const std::string& precision);
void add_generation_options(CLI::App& command, GenerationOptions& options);
/// `options` with the sampling that the model recommends for options that were not given.
GenerationOptions completed(const CLI::App& command, const Model& model, GenerationOptions options);
/// A generator with completed() options.
Generator make_generator(const CLI::App& command, const Model& model, const GenerationOptions& options);

/// --mask-heads 3.2,5.0: layer.head, both from 0. For an encoder–decoder with a prefix: e encoder, d decoder, x cross.
void add_head_mask_option(CLI::App& command, std::string& heads);
/// Parses the value, for SessionOptions::masked_heads; nothing if it is empty. Throws usage if it is not a list of
/// heads.
std::optional<std::vector<HeadId>> masked_heads(const std::string& heads);

}  // namespace vantage::cli
