// vantage run: continues a prompt and streams the text, continues several prompts in a batch, or writes about images.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/generate/prompt_batch.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/loaded_model.h"
#include "cli/shared/model_images.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/log.h"
#include "runtime/base/terminal.h"
#include "runtime/base/trace_span.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct RunOptions {
    std::vector<std::string> prompts, images;
    std::string file;
    std::int64_t together = 16;
    GenerationOptions generation;
    bool json = false;
};

/// Tokens per second; none where nothing was measured.
std::optional<double> rate(std::int64_t tokens, double seconds) {
    return tokens > 0 && seconds > 0 ? std::optional(static_cast<double>(tokens) / seconds) : std::nullopt;
}

/// The prompts of -p (-: stdin) and the lines of --prompts.
std::vector<std::string> prompts_of(const RunOptions& o) {
    std::vector<std::string> prompts = o.prompts;
    if (std::ranges::count(prompts, "-") + (o.file == "-" ? 1 : 0) > 1)
        throw usage_error("run: - (stdin) was given more than once");
    for (std::string& prompt : prompts)
        if (prompt == "-") prompt = read_stdin();
    if (!o.file.empty()) {
        std::string text = o.file == "-" ? read_stdin() : read_file(o.file);
        if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
        const std::vector<std::string> lines = lines_of(text);
        prompts.insert(prompts.end(), lines.begin(), lines.end());
    }
    if (prompts.empty()) throw usage_error("run: no prompt; give -p TEXT, or --prompts FILE with one prompt per line");
    return prompts;
}

/// Of the tokens after the first of each text, which its prompt's run draws.
std::optional<double> generating_rate(const SessionStats& s, std::int64_t texts = 1) {
    return rate(s.generated_tokens - texts, s.generate_seconds);
}

void print_rates(const SessionStats& s, std::int64_t texts = 1) {
    if (common().quiet) return;
    const auto at_rate = [](std::optional<double> number) {
        return number ? format(", {:.1f} tokens/s", *number) : "";
    };
    const std::string line = format("prompt {} tokens{}; generated {} tokens{}\n", s.prompt_tokens,
                                    at_rate(rate(s.prompt_tokens, s.prompt_seconds)), s.generated_tokens,
                                    at_rate(generating_rate(s, texts)));
    std::fputs(line.c_str(), stderr);
}

Json completion_json(const Model& model, const AttentionVariant& variant, const std::string& prompt,
                     const std::string& text, Session& session, Ending ending) {
    const auto or_null = [](std::optional<double> number) { return number ? Json(*number) : Json(); };
    const SessionStats& s = session.stats();
    const std::vector<std::int32_t>& tokens = session.tokens();
    const std::ptrdiff_t before = std::ssize(tokens) - static_cast<std::ptrdiff_t>(s.generated_tokens);
    const std::ptrdiff_t read = std::ssize(session.source_tokens());  // by the encoder
    return {{"schema_version", 1},
            {"model", model.info().name},
            {"device", model.device().caps().name},
            {"attention_kind", name_of(variant)},
            {config_of(model).sees() ? "image" : "prompt", prompt},
            {"text", text},
            {"ids", std::span(tokens).subspan(static_cast<std::size_t>(before))},
            {"ending", name_of(ending)},
            {"prompt_tokens", read > 0 ? read : before},
            {"generated_tokens", s.generated_tokens},
            {"prompt_tokens_per_second", or_null(rate(s.prompt_tokens, s.prompt_seconds))},
            {"generated_tokens_per_second", or_null(generating_rate(s))}};
}

/// `generate(on_token)` continues a prompt, or writes about an image; `what` is the prompt or the image's file.
void write_one(const Model& model, Generator& generator, const std::string& what, const RunOptions& o,
               const std::function<Ending(const std::function<bool(const Token&)>&)>& generate) {
    std::string text;
    const Ending ending = timed("generate", [&] {
        return generate([&](const Token& token) {
            text += token.text;
            if (!o.json) write_out(token.text);
            return true;
        });
    });
    const AttentionVariant& variant = o.generation.generator.session.variant;
    const auto json = [&] { return completion_json(model, variant, what, text, generator.session(), ending); };
    write_out((!o.json ? "" : json_text(json(), o.images.empty() ? 2 : -1)) + "\n");
    if (ending == Ending::context_full)
        log(LogLevel::warning, "the context of {} tokens is full", generator.session().context());
    if (ending == Ending::dead_end) log(LogLevel::warning, "the grammar or the biases allow no token here");
    print_rates(generator.session().stats());
    note_dispatches(model.device(), generator.session().take_timings());
}

void run_one(const CLI::App& command, LoadedModel& model, const std::string& prompt, const RunOptions& o) {
    Generator generator = model.make([&](const Model& m) { return make_generator(command, m, o.generation); });
    write_one(*model, generator, prompt, o, [&](const auto& on_token) { return generator.generate(prompt, on_token); });
}

/// One after the other: a batch takes texts.
void describe_images(const CLI::App& command, LoadedModel& model, const RunOptions& o) {
    Generator generator = model.make([&](const Model& m) { return make_generator(command, m, o.generation); });
    for (const std::string& file : o.images)
        for (const ModelImage& image : read_model_images(*model, file)) {
            if (o.images.size() > 1 && !o.json) print_line("{}", Page().bold(image.name));
            write_one(*model, generator, image.name, o,
                      [&](const auto& on_token) { return generator.describe(image.pixels, on_token); });
        }
}

void run(const CLI::App& command, RunOptions& o) {
    const std::vector<std::string> prompts = o.images.empty() ? prompts_of(o) : std::vector<std::string>();
    LoadedModel model(o.generation.recover, tower_for(!o.images.empty()));
    require_image("run", *model, !o.images.empty());
    check_images(*model, o.images);
    o.generation.generator.session.profile = profiling();
    o.generation.generator.reload = model.reloader();
    if (!o.images.empty()) return describe_images(command, model, o);
    if (o.file.empty() && prompts.size() == 1) return run_one(command, model, prompts.front(), o);
    PromptBatch batch = model.make(
        [&](const Model& m) { return PromptBatch(m, prompts, completed(command, m, o.generation), o.together); });
    const SessionStats stats = timed("generate", [&] { return batch.run(o.json); });
    print_rates(stats, batch.texts());
    note_dispatches(model->device(), batch.take_timings());
}

}  // namespace

void add_run(CLI::App& app) {
    auto o = std::make_shared<RunOptions>();
    CLI::App& command = add_command(
        app, "run", "Continue a prompt; encoder–decoders: generate the output for it, or for an image",
        "Several prompts run in a batch. With --stable or --precision f32 each gets the text that it gets alone; "
        "without, kernels round differently in batches, and some texts differ (docs/models.md). Texts are printed "
        "below their prompts, with --json one object per line.\n\n"
        "Examples:\n  vantage run -p \"Mia put the red key in the box.\" -n 40 --temp 0.7\n"
        "  vantage run -p \"The dog\" -p \"Once upon a time\" -n 20\n"
        "  vantage run --prompts lines.txt --json > texts.jsonl\n"
        "  vantage run -m models/vit-gpt2 --image cat.jpg");
    add_model_option(command);
    add_lora_option(command);
    CLI::Option* prompt =
        add_option(command, "-p,--prompt", o->prompts,
                   "Prompt (encoder–decoders: the encoder's text); - reads stdin. Can be given several times", "TEXT")
            ->allow_extra_args(false);
    CLI::Option* file =
        add_option(command, "--prompts", o->file, "File with one prompt per line; - reads stdin", "FILE");
    add_images_option(command, o->images)->excludes(prompt)->excludes(file);
    add_setting(command, "--batch", o->together, "Maximum number of prompts that run together")
        ->check(CLI::Range(1, 4096));
    add_generation_options(command, o->generation);
    command.add_flag("--json", o->json, "Print a JSON object for each complete text");
    command.callback([o, &command] {
        refuse_unless(o->images.empty(), command, "--batch", "is for texts: images run one after the other");
        run(command, *o);
    });
}

}  // namespace vantage::cli
