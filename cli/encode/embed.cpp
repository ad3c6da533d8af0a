// vantage embed: vectors of texts or images, by an encoder.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/encode/word_in_context.h"
#include "cli/generate/prompt_batch.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/model_images.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "runtime/base/terminal.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "vantage/batch.h"

namespace vantage::cli {

namespace {

struct EmbedCommand {
    std::vector<std::string> prompts, images;
    std::string pooling, save, precision = "f16", masked, word, chart;
    AttentionVariant variant = {};
    bool normalise = false, stable = false, json = false;
};

/// The texts of -p (-: stdin), or the lines of stdin.
std::vector<std::string> texts_of(const EmbedCommand& o) {
    if (std::ranges::count(o.prompts, "-") > 1) throw usage_error("embed: - (stdin) was given more than once");
    if (!o.prompts.empty()) {
        std::vector<std::string> texts = o.prompts;
        for (std::string& text : texts)
            if (text == "-") text = read_stdin();
        return texts;
    }
    const std::vector<std::string> lines = lines_of(read_stdin());
    if (lines.empty()) throw usage_error("embed: no input; give -p TEXT, or one text per line on stdin");
    return lines;
}

vantage::EmbedOptions library_options(const EmbedCommand& o, const Model& model) {
    return {.pooling = o.pooling == "mean"  ? Pooling::mean
                       : o.pooling == "cls" ? Pooling::first
                                            : Pooling::pooler,
            .normalise = o.normalise,
            .session = {.precision = precision_named(o.precision),
                        .stable = o.stable,
                        .profile = profiling(),
                        .variant = o.variant,
                        .masked_heads = masked_heads(o.masked)},
            .on_timings = [&model](const auto& timings) { note_dispatches(model.device(), timings); }};
}

std::string default_pooling(const ModelConfig& config) {
    if (config.own.has(pair_scale)) return "pooler";
    return config.own.has("pools_first_token") && config.own.flag("pools_first_token") ? "cls" : "mean";
}

/// A vector for each image, in the order of the files: [images, width].
Array embed_images(const Model& model, const EmbedCommand& o) {
    const vantage::EmbedOptions options = library_options(o, model);
    Session session(model, options.session);
    Progress progress("embedding");
    std::vector<float> all;
    std::int64_t count = 0;
    for (std::size_t file = 0; file < o.images.size(); ++file) {
        progress.show(static_cast<std::int64_t>(file), std::ssize(o.images));
        for (const ModelImage& image : read_model_images(model, o.images[file])) {
            session.set_image(image.pixels);
            session.run();
            const Array vector = embedding(session, options);
            all.insert(all.end(), vector.begin(), vector.end());
            ++count;
        }
    }
    options.on_timings(session.take_timings());
    const Shape shape{count, std::ssize(all) / count};
    return {shape, std::move(all)};
}

Array embed_texts(const Model& model, const EmbedCommand& o, std::span<const std::string> texts) {
    vantage::EmbedOptions options = library_options(o, model);
    Progress progress("embedding");
    options.on_progress = [&progress](std::int64_t done, std::int64_t count) { progress.show(done, count); };
    return embed(model, texts, options);
}

void run(EmbedCommand& o) {
    const std::vector<std::string> texts = o.images.empty() ? texts_of(o) : std::vector<std::string>();
    const Model model = load_model(open_device(), tower_for(!o.images.empty()));
    if (!o.word.empty())
        return compare_word(model, {.word = o.word,
                                    .texts = texts,
                                    .save = o.save,
                                    .chart = o.chart,
                                    .json = o.json,
                                    .session = library_options(o, model).session});
    if (config_of(model).kind != ModelKind::encoder)
        throw usage_error(
            "embed: {} is {}; embed needs an encoder (bert, roberta, longformer, big_bird, distilbert, vit, clip)",
            model.info().name, model.info().architecture);
    require_image("embed", model, !o.images.empty());
    check_images(model, o.images);
    if (o.pooling.empty()) o.pooling = default_pooling(config_of(model));
    const Array all = o.images.empty() ? embed_texts(model, o, texts) : embed_images(model, o);
    const std::int64_t count = all.shape()[0], width = all.shape()[1];
    if (o.save.empty()) {
        for (std::int64_t i = 0; i < count; ++i) write_out(Json(all.row(i).vector()).dump() + "\n");
        return;
    }
    write_safetensors(o.save, {{"embeddings", "F32", {count, width}, std::as_bytes(all.values())}},
                      {{"model", model.info().name}, {"pooling", o.pooling}});
}

void add_word_options(CLI::App& command, EmbedCommand& o) {
    CLI::Option* word = add_option(command, "--word", o.word,
                                   "Compare the vectors of this word in the texts instead, layer by layer: cosine "
                                   "similarity of text 1 and each other text. Any model of texts",
                                   "WORD");
    word->check(not_empty);
    add_option(command, "--chart", o.chart, "With --word: write a chart to this file (.png or .svg)", "FILE")
        ->needs(word);
    command.add_flag("--json", o.json, "With --word: print one JSON object, with the vectors")->needs(word);
    for (const char* other : {"--image", "--normalise", "--pooling"}) word->excludes(command.get_option(other));
}

}  // namespace

void add_embed(CLI::App& app) {
    auto o = std::make_shared<EmbedCommand>();
    CLI::App& command = add_command(
        app, "embed", "Turn texts or images into vectors with an encoder",
        "Prints one vector per line as JSON. FILE holds the tensor embeddings [texts or images, width]. Texts of "
        "similar length run in batches.\n\n"
        "Examples:\n"
        "  vantage embed -m models/all-MiniLM-L6-v2 -p \"a red key\" -p \"a box\" --normalise\n"
        "  vantage embed -m models/bert --pooling cls --save out.safetensors < lines.txt\n"
        "  vantage embed --word boat -p \"The red boat is small.\" -p \"Mia saw a boat.\"\n"
        "  vantage embed -m models/vit --pooling cls --image cat.jpg dog.png\n"
        "  vantage embed -m models/clip --image cat.jpg --normalise");
    add_model_option(command);
    CLI::Option* prompt = add_option(
        command, "-p,--prompt", o->prompts,
        "Input text; - reads stdin as one; can be given several times. Default: one text per line of stdin", "TEXT");
    add_images_option(command, o->images)->excludes(prompt);
    add_option(command, "--pooling", o->pooling,
               "mean: mean of all tokens or patches; cls: the first token; pooler: the output of the model's pooler. "
               "Default: mean; of CLIP pooler, which makes vectors of texts and images that can be compared; of a GGUF "
               "file what it says",
               "POOLING")
        ->check(CLI::IsMember({"mean", "cls", "pooler"}));
    command.add_flag("--normalise,--normalize", o->normalise,
                     "Scale vectors to length 1, so that dot products are cosine similarities");
    add_option(command, "--save", o->save, "Write the vectors to this file (safetensors) instead of stdout", "FILE");
    add_word_options(command, *o);
    add_precision_option(command, o->precision);
    add_stable_option(command, o->stable);
    add_variant_option(command, o->variant);
    add_head_mask_option(command, o->masked);
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
