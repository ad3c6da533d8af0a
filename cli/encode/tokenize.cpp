// vantage tokenize: text to token ids and back, byte for byte.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/token_ids.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/terminal.h"
#include "runtime/base/utf8.h"
#include "vantage/tokenizer.h"

namespace vantage::cli {
namespace {

struct TokenizeOptions {
    std::string model, tokenizer;
    std::optional<std::string> pair;
    bool json = false, decode = false, skip_special = false;
};

void print(const Json& value) { write_out(value.dump() + "\n"); }

/// Whether the option was given on the command line and not by its environment variable.
bool is_typed(const std::string& value, const char* variable) {
    return !value.empty() && value != environment(variable).value_or("");
}

Tokenizer open_tokenizer(const TokenizeOptions& options) {
    const bool model_typed = is_typed(options.model, "VANTAGE_MODEL");
    const bool tokenizer_typed = is_typed(options.tokenizer, "VANTAGE_TOKENIZER");
    if (model_typed && tokenizer_typed) throw usage_error("--model and --tokenizer exclude each other");
    if (!options.tokenizer.empty() && !model_typed) return Tokenizer::load(options.tokenizer);
    const std::string folder = options.model.empty() ? built_in_model() : options.model;
    return Tokenizer::load((std::filesystem::path(folder) / "tokenizer.json").string());
}

// ---- text to ids ----------------------------------------------------------------------------------------------------

/// One line per token: id, range in the text, and the token with visible spaces and control characters.
std::string table(const Tokenizer& tokenizer, const Tokenizer::Encoding& encoding) {
    std::string text;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const std::string place = format("{}-{}", encoding.offsets[i].first, encoding.offsets[i].second);
        text += format("{:8}  {:<13}  ", encoding.ids[i], place) + tokenizer.display(encoding.ids[i]) + "\n";
    }
    return text;
}

void warn_unless_utf8(const std::string& text, const char* name) {
    if (!is_utf8(text)) log(LogLevel::warning, "{} is not valid UTF-8: invalid sequences are read as U+FFFD", name);
}

void encode_stdin(const TokenizeOptions& options, const Tokenizer& tokenizer) {
    const std::string input = read_stdin();
    warn_unless_utf8(input, "stdin");
    if (options.pair) warn_unless_utf8(*options.pair, "--pair");
    // pairs always get their special tokens
    const Tokenizer::Encoding encoding =
        options.pair ? tokenizer.encode_pair(input, *options.pair) : tokenizer.encode(input, false);
    if (!options.json) return write_out(table(tokenizer, encoding));
    Json result{{"ids", encoding.ids},
                {"ids_with_special", options.pair ? encoding.ids : tokenizer.encode(input, true).ids},
                {"tokens", encoding.tokens},
                {"offsets", encoding.offsets}};
    if (options.pair) result["type_ids"] = encoding.type_ids;
    print(result);
}

// ---- ids to text ----------------------------------------------------------------------------------------------------

void decode_stdin(const TokenizeOptions& options, const Tokenizer& tokenizer) {
    const std::vector<std::int32_t> ids = read_ids(read_stdin(), "stdin");
    for (const std::int32_t id : ids)
        if (!tokenizer.has(id))
            throw usage_error("stdin: token id {} is outside the vocabulary (0 to {})", id, tokenizer.vocab_size() - 1);
    StreamDecoder stream(tokenizer, options.skip_special);
    std::string text;
    for (const std::int32_t id : ids) {
        throw_if_interrupted();
        text += stream.push(id);
    }
    text += stream.finish();
    options.json ? print(Json{{"text", text}}) : write_out(text);
}

}  // namespace

void add_tokenize(CLI::App& app) {
    const auto options = std::make_shared<TokenizeOptions>();
    CLI::App& command = add_command(app, "tokenize", "Convert text from stdin to token ids, or ids to text",
                                    "All bytes of stdin are encoded, including the last newline.\n\n"
                                    "Examples:\n"
                                    "  printf 'Hello, world' | vantage tokenize\n"
                                    "  printf 'Hello, world' | vantage tokenize --json -m models/gpt2\n"
                                    "  printf 'Who barked?' | vantage tokenize --pair 'The dog did.' -m models/bert\n"
                                    "  echo '15496 11 995' | vantage tokenize --decode -m models/gpt2");
    add_option(command, "-m,--model", options->model, "Model folder with tokenizer.json. Default: the built-in model",
               "DIR");
    add_option(command, "--tokenizer", options->tokenizer, "A tokenizer.json without a model", "FILE");
    command.add_flag("--json", options->json,
                     "Print JSON: ids, ids_with_special, tokens and offsets (in Unicode code points). With --pair "
                     "also type_ids, and ids include special tokens. With --decode: text");
    CLI::Option* decode = command.add_flag(
        "--decode", options->decode, "Read ids (separated by spaces or commas, or a JSON array) and print their text");
    add_option(command, "--pair", options->pair, "Second text; both are encoded as a pair, with special tokens", "TEXT")
        ->excludes(decode);
    command.add_flag("--skip-special", options->skip_special, "Omit special tokens from the decoded text")
        ->needs(decode);
    command.callback([options] {
        const Tokenizer tokenizer = open_tokenizer(*options);
        (options->decode ? decode_stdin : encode_stdin)(*options, tokenizer);
    });
}

}  // namespace vantage::cli
