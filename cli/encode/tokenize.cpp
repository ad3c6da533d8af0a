// vantage tokenize: text to token ids and back, byte for byte.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <utility>

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
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/checkpoint/gguf_tokenizer.h"
#include "vantage/tokenizer.h"

namespace vantage::cli {
namespace {

struct TokenizeOptions {
    std::string model, tokenizer;
    std::optional<std::string> pair;
    bool json = false, decode = false, skip_special = false;
};

/// Output in pieces: of a long text the tokens are many times its size.
class Pieces {
public:
    void add(const std::string& text) {
        constexpr std::size_t piece = 1 << 16;
        text_ += text;
        if (text_.size() >= piece) write_out(std::exchange(text_, {}));
    }
    /// "name":[…], element by element.
    void add_list(const char* name, const auto& list) {
        add(format("\"{}\":[", name));
        const char* separator = "";
        for (const auto& one : list) add(std::exchange(separator, ",") + Json(one).dump());
        add("]");
    }
    void finish() { write_out(std::exchange(text_, {})); }

private:
    std::string text_;
};

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
    if (!is_gguf(folder)) return Tokenizer::load((std::filesystem::path(folder) / "tokenizer.json").string());
    const Gguf file(folder);
    const std::string json = gguf_tokenizer_json(file);
    if (json.empty()) throw bad_file_error("{}: there is no tokenizer in it", file.name());
    return Tokenizer::parse(json, file.name());
}

// ---- text to ids ----------------------------------------------------------------------------------------------------

/// One line per token: id, range in the text, and the token with visible spaces and control characters.
void print_table(const Tokenizer& tokenizer, const Tokenizer::Encoding& encoding) {
    Pieces out;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const std::string place = format("{}-{}", encoding.offsets[i].first, encoding.offsets[i].second);
        out.add(format("{:8}  {:<13}  ", encoding.ids[i], place) + tokenizer.display(encoding.ids[i]) + "\n");
    }
    out.finish();
}

void print_json(const Tokenizer::Encoding& encoding, const std::vector<std::int32_t>& with_special, bool is_pair) {
    Pieces out;
    out.add("{");
    out.add_list("ids", encoding.ids);
    out.add(",");
    out.add_list("ids_with_special", with_special);
    out.add(",");
    out.add_list("offsets", encoding.offsets);
    out.add(",");
    out.add_list("tokens", encoding.tokens);
    if (is_pair) out.add(","), out.add_list("type_ids", encoding.type_ids);
    out.add("}\n");
    out.finish();
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
    if (!options.json) return print_table(tokenizer, encoding);
    print_json(encoding, options.pair ? encoding.ids : tokenizer.encode(input, true).ids, options.pair.has_value());
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
    write_out(options.json ? Json{{"text", text}}.dump() + "\n" : text);
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
    add_option(command, "-m,--model", options->model,
               "Model folder with tokenizer.json, or a .gguf file. Default: the built-in model", "DIR");
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
