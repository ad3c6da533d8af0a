// How text is drawn and what a session may hold: options that `run` and `chat` share.
#pragma once

#include <string>

#include "vantage/session.h"

namespace CLI {
class App;
}

namespace vantage::cli {

struct GenerationOptions {
    Sampling sampling = default_sampling;
    GeneratorOptions generator = {};
    std::string precision = "f16", masked;  ///< masked: heads, as --mask-heads names them
};
/// --precision f16|f32, with what it holds now as the default.
void add_precision_option(CLI::App& command, std::string& precision);
void add_generation_options(CLI::App& command, GenerationOptions& options);
/// What was typed, and where nothing was what the model recommends.
GenerationOptions completed(const CLI::App& command, const Model& model, GenerationOptions options);
/// The same in a generator.
Generator make_generator(const CLI::App& command, const Model& model, const GenerationOptions& options);

/// Text to stdout, at once; it may hold any byte, and what cannot be written is an error.
void write_out(const std::string& text);

}  // namespace vantage::cli
