// vantage tokenize: text to token ids and back, byte for byte.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/shared/commands.h"
#include "cli/shared/token_ids.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/base/utf8.h"
#include "vantage/tokenizer.h"

namespace vantage::cli {
namespace {

struct TokenizeOptions {
    std::string model, tokenizer;
    std::optional<std::string> pair;
    bool json = false, decode = false, skip_special = false;
};

void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw Error(ErrorKind::failure, "cannot write the result to stdout");
}
void print(const Json& value) { print(value.dump() + "\n"); }

/// Given on the command line, and not by the option's variable.
bool is_typed(const std::string& value, const char* variable) {
    return !value.empty() && value != environment(variable).value_or("");
}

Tokenizer open_tokenizer(const TokenizeOptions& options) {
    const bool model_typed = is_typed(options.model, "VANTAGE_MODEL");
    const bool tokenizer_typed = is_typed(options.tokenizer, "VANTAGE_TOKENIZER");
    if (model_typed && tokenizer_typed) throw Error(ErrorKind::usage, "--model and --tokenizer exclude each other");
    if (!options.tokenizer.empty() && !model_typed) return Tokenizer::load(options.tokenizer);
    const std::string folder = options.model.empty() ? built_in_model() : options.model;
    return Tokenizer::load((std::filesystem::path(folder) / "tokenizer.json").string());
}

// ---- text to ids -----------------------------------------------------------------------------------------------------

/// One line per token: id, place in the text, and the token so that all of it can be seen.
std::string table(const Tokenizer& tokenizer, const Tokenizer::Encoding& encoding) {
    std::string text;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const std::string place = format("%zu-%zu", encoding.offsets[i].first, encoding.offsets[i].second);
        text += format("%8d  %-13s  ", encoding.ids[i], place.c_str()) + tokenizer.display(encoding.ids[i]) + "\n";
    }
    return text;
}

void warn_unless_utf8(const std::string& text, const char* name) {
    if (!is_utf8(text))
        log(LogLevel::warning, "%s is not UTF-8 everywhere: each broken sequence is read as U+FFFD", name);
}

void encode_stdin(const TokenizeOptions& options, const Tokenizer& tokenizer) {
    const std::string input = read_stdin();
    warn_unless_utf8(input, "stdin");
    if (options.pair) warn_unless_utf8(*options.pair, "--pair");
    // Two texts make no sense without what stands between them.
    const Tokenizer::Encoding encoding =
        options.pair ? tokenizer.encode_pair(input, *options.pair) : tokenizer.encode(input, false);
    if (!options.json) return print(table(tokenizer, encoding));
    Json offsets = Json::array();
    for (const auto& [begin, end] : encoding.offsets) offsets.push_back({begin, end});
    Json result{{"ids", encoding.ids},
                {"ids_with_special", options.pair ? encoding.ids : tokenizer.encode(input, true).ids},
                {"tokens", encoding.tokens},
                {"offsets", offsets}};
    if (options.pair) result["type_ids"] = encoding.type_ids;
    print(result);
}

// ---- ids to text -----------------------------------------------------------------------------------------------------

void decode_stdin(const TokenizeOptions& options, const Tokenizer& tokenizer) {
    const std::vector<std::int32_t> ids = read_ids(read_stdin(), "stdin");
    for (const std::int32_t id : ids)
        if (!tokenizer.has(id))
            throw Error(ErrorKind::usage, format("stdin: token id %d is not in the vocabulary, wanted 0 to %d", id,
                                                 tokenizer.vocab_size() - 1));
    const std::string text = tokenizer.decode(ids, options.skip_special);
    if (options.json)
        print(Json{{"text", text}});
    else
        print(text);
}

}  // namespace

void add_tokenize(CLI::App& app) {
    const auto options = std::make_shared<TokenizeOptions>();
    CLI::App* command = app.add_subcommand("tokenize", "Text from stdin to token ids, or ids back to text");
    command
        ->add_option("-m,--model", options->model,
                     "Model folder whose tokenizer.json is used (default: the built-in model)")
        ->type_name("DIR");
    command->add_option("--tokenizer", options->tokenizer, "A tokenizer.json by itself, without a model")
        ->type_name("FILE");
    command->add_flag(
        "--json", options->json,
        "JSON: ids, ids_with_special, tokens, offsets (in Unicode code points); with --pair also type_ids, and "
        "ids with special tokens; with --decode: text");
    CLI::Option* decode =
        command->add_flag("--decode", options->decode,
                          "Read ids (spaces or commas between them, or a JSON list), write their text exactly");
    command
        ->add_option("--pair", options->pair, "A second text, put behind the first with the special tokens of a pair")
        ->type_name("TEXT")
        ->excludes(decode);
    command->add_flag("--skip-special", options->skip_special, "Leave special tokens out of the decoded text")
        ->needs(decode);
    command->footer(
        "Every byte of stdin counts, the last newline too.\n\n"
        "Examples:\n"
        "  printf 'Hello, world' | vantage tokenize\n"
        "  printf 'Hello, world' | vantage tokenize --json -m models/gpt2\n"
        "  printf 'Who barked?' | vantage tokenize --pair 'The dog did.' -m models/bert\n"
        "  echo '15496 11 995' | vantage tokenize --decode -m models/gpt2");
    command->callback([options] {
        const Tokenizer tokenizer = open_tokenizer(*options);
        if (options->decode)
            decode_stdin(*options, tokenizer);
        else
            encode_stdin(*options, tokenizer);
    });
}

}  // namespace vantage::cli
