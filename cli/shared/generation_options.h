// Sampling and session options, shared by `run` and `chat`; --precision.
#pragma once

#include <string>

#include "cli/shared/cli11.h"
#include "vantage/session.h"

namespace vantage::cli {

struct GenerationOptions {
    Sampling sampling = default_sampling;
    GeneratorOptions generator = {};
    std::string precision = "f16", masked;  ///< masked: the value of --mask-heads
};
/// --precision f16|f32|int8; the default is the current value of `precision`.
void add_precision_option(CLI::App& command, std::string& precision);
/// The same for a session that records attention: f16 or f32. It does not refuse int8; see recording_precision.
void add_recording_precision_option(CLI::App& command, std::string& precision);
/// The precision of a session that records attention. Such a session does not round to int8: for int8 it uses f16 and
/// reports the fallback.
Precision recording_precision(const std::string& precision);
void add_generation_options(CLI::App& command, GenerationOptions& options);
/// `options` with the sampling that the model recommends for options that were not given.
GenerationOptions completed(const CLI::App& command, const Model& model, GenerationOptions options);
/// A generator with completed() options.
Generator make_generator(const CLI::App& command, const Model& model, const GenerationOptions& options);

/// Writes text (any bytes) to stdout and flushes. Throws bad_file if that fails.
void write_out(const std::string& text);

}  // namespace vantage::cli
