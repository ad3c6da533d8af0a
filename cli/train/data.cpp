// vantage data: vocabularies, token files, and what a model would be shown of texts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/progress.h"
#include "cli/shared/terminal_page.h"
#include "cli/train/run_folder.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/io/safetensors.h"
#include "runtime/picture/step_chart.h"
#include "runtime/text/chat_template.h"
#include "runtime/train/documents.h"
#include "runtime/train/token_data.h"

namespace vantage::cli {

namespace {

struct DataCommand {
    std::vector<std::string> files;
    std::string tokenizer, output;
    DatasetOptions dataset{.context = 256};
    std::int64_t size = 0, min_frequency = 2, sequences = 2, seed = 0;
    std::vector<std::string> special = {"<|endoftext|>"};
    bool json = false;
};

Tokenizer tokenizer_of(const DataCommand& c) {
    const bool folder = std::filesystem::is_directory(c.tokenizer);
    return Tokenizer::load(folder ? c.tokenizer + "/tokenizer.json" : c.tokenizer);
}

// As training reads them.
TokenData tokens_of(const DataCommand& c, const Tokenizer& tokenizer) {
    Progress progress;
    DatasetOptions options = c.dataset;
    options.progress = reading(progress);
    return TokenData(c.files, &tokenizer, options);
}

void warn_of_skipped(const std::string& file, const DocumentCounts& counts) {
    if (counts.skipped > 0)
        log(LogLevel::warning, "{}: {} lines cannot be read; the first: {}", file, counts.skipped,
            counts.first_skipped);
}

// What makes an option of the command useless.
void check_inputs(const DataCommand& c) {
    require_texts_for_blank_lines(c.dataset, c.files);
    const std::string& folder = c.dataset.chat_folder;
    if (!folder.empty() && !text::read_chat_format(folder).chat_template)
        throw bad_file_error(
            "--chat-template {}: no chat template is there, in chat_template.jinja or tokenizer_config.json", folder);
}

// ---- vocabulary -----------------------------------------------------------------------------------------------------

void make_vocabulary(const DataCommand& c) {
    check_inputs(c);
    require_writable(c.output);
    refuse_output_in_data(c.output, c.files, "data vocabulary");
    BpeTrainer trainer({.vocab = c.size, .min_frequency = c.min_frequency, .special_tokens = c.special});
    Progress progress;
    const auto shown = reading(progress);
    std::int64_t documents = 0, bytes = 0;
    for (const std::string& file : files_in(c.files)) {
        const DocumentCounts counts = read_texts(
            file, {.blank_lines = c.dataset.blank_lines, .strict = c.dataset.strict},
            [&](const std::string& text) {
                trainer.add(text);
                bytes += std::ssize(text);
            },
            [&](double share) { shown(file, share); });
        documents += counts.documents;
        warn_of_skipped(file, counts);
    }
    const std::string text =
        trainer.tokenizer_json([&](std::int64_t made, std::int64_t wanted) { progress.show(made, wanted); });
    progress.clear();
    write_file(c.output, text);
    const std::int64_t tokens = Tokenizer::parse(text, c.output).vocab_size();
    if (c.json)
        return write_json({{"schema_version", 1},
                           {"tokens", tokens},
                           {"words", trainer.words()},
                           {"documents", documents},
                           {"bytes", bytes},
                           {"output", c.output}});
    const Page page;
    print_line("{}  {} tokens from {} different words of {} documents, {}B", page.bold("vocabulary"), tokens,
               count_text(static_cast<double>(trainer.words())), documents, count_text(static_cast<double>(bytes)));
    if (tokens < c.size)
        print_line("            {} were wanted, but no pair is left that the texts have {} times", c.size,
                   c.min_frequency);
    print_line("{}         {}", page.bold("try"),
               escape_controls("vantage train --tokenizer " + shell_word(c.output)) + " --data … -o DIR");
}

// ---- token files ----------------------------------------------------------------------------------------------------

constexpr std::size_t copied_at_once = 1 << 20;

// llm.c's file: 256 words of header, and ids of 16 or 32 bits. Documents end at the tokenizer's end token.
void write_bin(const std::string& path, const TokenFile& tokens, const Tokenizer& tokenizer) {
    const std::int64_t vocabulary = tokenizer.vocab_size();
    if (tokens.documents() > 1 && !default_end_token(tokenizer))
        throw usage_error(
            "the tokenizer has no end token, so a .bin file cannot say where documents end: write a "
            ".safetensors");
    const bool narrow = vocabulary <= 1 << 16;
    if (tokens.tokens() > INT32_MAX)
        throw usage_error("{} tokens are too many for a .bin file, which counts them in 32 bits", tokens.tokens());
    if (tokens.targets() != tokens.tokens())
        throw usage_error("{} of {} tokens are no targets, which a .bin file cannot say: write a .safetensors",
                          tokens.tokens() - tokens.targets(), tokens.tokens());
    std::array<std::int32_t, 256> header{};
    header[0] = narrow ? 20240520 : 20240801, header[1] = narrow ? 1 : 7;
    header[2] = static_cast<std::int32_t>(tokens.tokens());
    FileWriter file(path);
    file.write(std::as_bytes(std::span(header)));
    std::vector<std::int32_t> ids;
    for (std::uint64_t first = 0; first < tokens.tokens(); first += ids.size()) {
        throw_if_interrupted();
        ids.resize(std::min<std::uint64_t>(copied_at_once, tokens.tokens() - first));
        tokens.read(first, ids);
        if (!narrow) {
            file.write(std::as_bytes(std::span(ids)));
            continue;
        }
        const std::vector<std::uint16_t> halves(ids.begin(), ids.end());
        file.write(std::as_bytes(std::span(halves)));
    }
    file.finish();
}

void write_tensors(const std::string& path, const TokenFile& tokens) {
    std::vector<std::int32_t> ids(tokens.tokens());
    tokens.read(0, ids);
    std::vector<std::uint8_t> mask;
    for (const std::int32_t id : ids) mask.push_back(is_target(id) ? 1 : 0);
    for (std::int32_t& id : ids) id = id_of(id);
    const std::vector<std::int64_t> starts(tokens.starts().begin(), std::prev(tokens.starts().end()));
    write_safetensors(path, {{"tokens", "I32", {std::ssize(ids)}, std::as_bytes(std::span(ids))},
                             {"mask", "U8", {std::ssize(mask)}, std::as_bytes(std::span(mask))},
                             {"documents", "I64", {std::ssize(starts)}, std::as_bytes(std::span(starts))}});
}

void tokenize_files(DataCommand& c) {
    check_inputs(c);
    require_writable(c.output);
    refuse_output_in_data(c.output, c.files, "data tokenize");
    const std::string kind = std::filesystem::path(c.output).extension().string();
    if (kind != ".bin" && kind != ".safetensors")
        throw usage_error("{}: expected a file that ends with .bin (llm.c) or .safetensors", c.output);
    c.dataset.context = 1, c.dataset.validation_share = 0;  // all of it
    const Tokenizer tokenizer = tokenizer_of(c);
    const TokenData data = tokens_of(c, tokenizer);
    if (kind == ".bin")
        write_bin(c.output, data.token_file(), tokenizer);
    else
        write_tensors(c.output, data.token_file());
    if (c.json)
        return write_json({{"schema_version", 1},
                           {"documents", data.documents()},
                           {"tokens", data.tokens()},
                           {"targets", data.targets()},
                           {"output", c.output}});
    const Page page;
    print_line("{}  {} tokens of {} documents, to {}", page.bold("written"), data.tokens(), data.documents(),
               escape_controls(c.output));
}

// ---- check ----------------------------------------------------------------------------------------------------------

struct Counted {
    std::vector<std::int64_t> lengths;  ///< of documents, ascending
    std::int64_t tokens = 0, targets = 0, skipped = 0;
};

// Reads the files themselves: what the cache has says nothing of lines that cannot be read.
Counted count_files(const DataCommand& c, const Tokenizer& tokenizer) {
    DocumentOptions options{.tokenizer = &tokenizer,
                            .end_token = default_end_token(tokenizer),
                            .vocabulary = tokenizer.vocab_size(),
                            .blank_lines = c.dataset.blank_lines,
                            .strict = c.dataset.strict};
    if (!c.dataset.chat_folder.empty()) options.chat = text::read_chat_format(c.dataset.chat_folder);
    Counted all;
    std::int64_t length = 0;
    Progress progress;
    const auto shown = reading(progress);
    for (const std::string& file : files_in(c.files)) {
        const auto take = [&](std::span<const std::int32_t> ids, bool ends) {
            length += std::ssize(ids);
            all.targets += std::ranges::count_if(ids, is_target);
            if (ends) all.tokens += length, all.lengths.push_back(std::exchange(length, 0));
        };
        const DocumentCounts counts = read_documents(file, options, take, [&](double share) { shown(file, share); });
        progress.clear();
        warn_of_skipped(file, counts);
        all.skipped += counts.skipped;
    }
    std::ranges::sort(all.lengths);
    if (all.lengths.empty()) throw usage_error("there are no documents in {}", c.files.front());
    return all;
}

void check_files(const DataCommand& c) {
    check_inputs(c);
    const Counted all = count_files(c, tokenizer_of(c));
    const auto length_at = [&](double share) {
        return all.lengths[static_cast<std::size_t>(share * static_cast<double>(all.lengths.size() - 1))];
    };
    const auto longer = all.lengths.end() - std::ranges::upper_bound(all.lengths, c.dataset.context);
    if (c.json)
        return write_json({{"schema_version", 1},
                           {"documents", all.lengths.size()},
                           {"tokens", all.tokens},
                           {"targets", all.targets},
                           {"skipped", all.skipped},
                           {"context", c.dataset.context},
                           {"sequences", all.tokens / c.dataset.context},
                           {"longer_than_context", longer},
                           {"lengths",
                            {{"min", all.lengths.front()},
                             {"median", length_at(0.5)},
                             {"p95", length_at(0.95)},
                             {"max", all.lengths.back()}}}});
    const Page page;
    const auto line = [&](const char* what, const std::string& text) {
        print_line("{}{}", page.bold(align_left(what, 11)), text);
    };
    line("documents",
         format("{}", all.lengths.size()) + (all.skipped > 0 ? format("; {} lines cannot be read", all.skipped) : ""));
    line("tokens", format("{}, of which {:.1f} % are targets", all.tokens,
                          100 * static_cast<double>(all.targets) / static_cast<double>(all.tokens)));
    line("lengths", format("{} to {} tokens, median {}, 95 % have up to {}", all.lengths.front(), all.lengths.back(),
                           length_at(0.5), length_at(0.95)));
    line("sequences", format("{} of {} tokens in an epoch; {} documents are longer and are read in parts",
                             all.tokens / c.dataset.context, c.dataset.context, longer));
}

// ---- show -----------------------------------------------------------------------------------------------------------

struct Shown {
    std::vector<std::int32_t> tokens, targets, documents;
};

Shown sequence_of(const TokenData& data, const DataCommand& c, std::int64_t index) {
    const auto rows = static_cast<std::size_t>(data.context());
    Shown shown{std::vector<std::int32_t>(rows), std::vector<std::int32_t>(rows), std::vector<std::int32_t>(rows)};
    data.read(static_cast<std::uint64_t>(c.seed), index,
              {.tokens = shown.tokens, .targets = shown.targets, .documents = shown.documents});
    return shown;
}

// A document a paragraph, in a colour of its own; tokens that are no targets are dim.
void print_sequence(const Page& page, const Tokenizer& tokenizer, const Shown& shown, std::int64_t number) {
    const auto targets = std::ranges::count_if(shown.targets, [](std::int32_t id) { return id >= 0; });
    print_line("{}  {} tokens of {} documents, {} targets", page.bold(format("sequence {}", number + 1)),
               shown.tokens.size(), shown.documents.back() + 1, targets);
    constexpr int margin = 6;
    const int columns = std::min(Page::columns(), 120) - margin;
    int used = 0;
    std::string line;
    const auto flush = [&] {
        if (used > 0) print_line("{}{}", std::string(margin, ' '), line);
        line.clear(), used = 0;
    };
    for (std::size_t i = 0; i < shown.tokens.size(); ++i) {
        const std::string text = tokenizer.display(shown.tokens[i]);
        const int width = column_width(text);
        const bool begins = i > 0 && shown.documents[i] != shown.documents[i - 1];
        if (begins || used + width > columns) flush();
        if (begins) print_line("");
        const Rgb colour = step_colours[static_cast<std::size_t>(shown.documents[i]) % step_colours.size()];
        line += shown.targets[i] >= 0 ? page.on(colour, text) : page.dim(text);
        used += width;
    }
    flush();
}

void show_files(const DataCommand& c) {
    check_inputs(c);
    const Tokenizer tokenizer = tokenizer_of(c);
    const TokenData data = tokens_of(c, tokenizer);
    const std::int64_t count = std::min(c.sequences, data.sequences());
    if (c.json) {
        Json all = Json::array();
        for (std::int64_t i = 0; i < count; ++i) {
            const Shown shown = sequence_of(data, c, i);
            all.push_back({{"tokens", shown.tokens}, {"targets", shown.targets}, {"documents", shown.documents}});
        }
        return write_json({{"schema_version", 1}, {"sequences", all}});
    }
    const Page page;
    for (std::int64_t i = 0; i < count; ++i) print_sequence(page, tokenizer, sequence_of(data, c, i), i);
}

// ---------------------------------------------------------------------------------------------------------------------

CLI::App& add_data_command(CLI::App& data, DataCommand& c, const char* name, const char* description,
                           const char* footer) {
    CLI::App& command = add_command(data, name, description, footer);
    command.add_option("files", c.files, "Files, or folders of them: text, .jsonl, .bin, .safetensors")
        ->type_name("FILE")
        ->required();
    command.add_flag("--blank-lines", c.dataset.blank_lines,
                     "Blank lines separate the documents of a text, in place of <|endoftext|>");
    command.add_flag("--strict-data", c.dataset.strict, "A line of a .jsonl that cannot be read is an error");
    command.add_flag("--json", c.json, "Print the result as one JSON object");
    return command;
}

void add_tokenizer_option(CLI::App& command, DataCommand& c) {
    add_option(command, "--tokenizer", c.tokenizer, "tokenizer.json, or the folder of a model", "FILE")->required();
    add_option(command, "--chat-template", c.dataset.chat_folder,
               "Folder of a model whose chat template writes \"messages\"", "DIR");
}

void add_context_option(CLI::App& command, DataCommand& c) {
    add_setting(command, "--context", c.dataset.context, "Tokens of a sequence")->check(one_or_more);
}

// What a training run has, too.
void add_run_options(CLI::App& command, DataCommand& c) {
    CLI::Option* eval_data =
        add_option(command, "--eval-data", c.dataset.validation_files, "Files that measure what was learned", "FILE");
    add_setting(command, "--eval-share", c.dataset.validation_share,
                "Without --eval-data: the share of the documents that measure")
        ->check(below_one)
        ->excludes(eval_data);
    command.add_flag("--separate-documents", c.dataset.separate_documents,
                     "Tokens attend to their own document only, as with `vantage train --separate-documents`");
}

}  // namespace

void add_data(CLI::App& app) {
    auto c = std::make_shared<DataCommand>();
    CLI::App& data = add_command(app, "data", "Look at what a model learns from, make vocabularies and token files",
                                 "docs/training.md says which files are read.");
    data.require_subcommand(1);
    CLI::App& vocabulary =
        add_data_command(data, *c, "vocabulary", "Train a byte-level BPE vocabulary on texts",
                         "The vocabulary is equal to that of Hugging Face's trainer.\n\n"
                         "Example:\n  vantage data vocabulary corpus.txt --size 4096 -o tokenizer.json");
    add_option(vocabulary, "--size", c->size, "Tokens of the vocabulary", "N")->required()->check(one_or_more);
    add_setting(vocabulary, "--min-frequency", c->min_frequency, "A pair is merged if the texts have it so often")
        ->check(zero_or_more);
    add_setting(vocabulary, "--special", c->special, "Special tokens, which have the first ids")->delimiter(',');
    add_option(vocabulary, "-o,--output", c->output, "File for the tokenizer", "FILE")->required();
    vocabulary.callback([c] { make_vocabulary(*c); });

    CLI::App& tokenize =
        add_data_command(data, *c, "tokenize", "Write the tokens of texts as a file",
                         "A .bin file is one of llm.c. A .safetensors also says which tokens are targets, and where "
                         "documents begin.\n\n"
                         "Example:\n  vantage data tokenize corpus.txt --tokenizer models/gpt2 -o corpus.bin");
    add_tokenizer_option(tokenize, *c);
    add_option(tokenize, "-o,--output", c->output, "File for the tokens: .bin or .safetensors", "FILE")->required();
    tokenize.callback([c] { tokenize_files(*c); });

    CLI::App& check = add_data_command(data, *c, "check", "Count documents, tokens and their lengths",
                                       "Lines that cannot be read are named.\n\n"
                                       "Example:\n  vantage data check chats.jsonl --tokenizer models/llama");
    add_tokenizer_option(check, *c);
    add_context_option(check, *c);
    check.callback([c] { check_files(*c); });

    CLI::App& show =
        add_data_command(data, *c, "show", "Show the first sequences that a training run reads",
                         "Each document has a colour. Tokens that the model does not learn to say are dim.\n\n"
                         "Example:\n  vantage data show corpus.txt --tokenizer models/gpt2 --context 64");
    add_tokenizer_option(show, *c);
    add_context_option(show, *c);
    add_run_options(show, *c);
    add_setting(show, "-n,--sequences", c->sequences, "Sequences to show")->check(one_or_more);
    add_setting(show, "--seed", c->seed, "Seed of the order, as of the training run")->check(zero_or_more);
    show.callback([c] { show_files(*c); });
}

}  // namespace vantage::cli
