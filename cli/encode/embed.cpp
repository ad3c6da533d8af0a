// vantage embed: vectors of texts or images, by an encoder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/generate/prompt_batch.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/head_mask.h"
#include "cli/shared/model_images.h"
#include "cli/shared/probabilities.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "runtime/base/format.h"
#include "runtime/base/terminal.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "vantage/batch.h"

namespace vantage::cli {

namespace {

struct EmbedOptions {
    std::vector<std::string> prompts, images;
    std::string pooling = "mean", save, precision = "f16", masked;
    bool normalise = false;
};

/// The texts of -p, or the lines of stdin.
std::vector<std::string> texts_of(const EmbedOptions& o) {
    if (!o.prompts.empty()) return o.prompts;
    const std::vector<std::string> lines = lines_of(read_stdin());
    if (lines.empty()) throw Error(ErrorKind::usage, "embed: no input; give -p TEXT, or one text per line on stdin");
    return lines;
}

struct Text {
    std::size_t number;
    std::vector<std::int32_t> ids;
    /// Texts of one size run together: at most half of their rows are padding.
    std::size_t size() const { return std::bit_ceil(std::max<std::size_t>(ids.size(), 8)); }
};

/// The texts' ids in ascending order of length.
std::vector<Text> by_length(const Model& model, std::span<const std::string> texts) {
    std::vector<Text> all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        all.push_back({i, model.tokenizer().encode(texts[i], true).ids});
        if (const std::size_t count = all.back().ids.size();
            count == 0 || std::cmp_greater(count, model.info().context))
            throw Error(ErrorKind::usage,
                        format("embed: text {} has {} tokens; expected 1 to {}", i + 1, count, model.info().context));
    }
    std::ranges::stable_sort(all, {}, [](const Text& text) { return text.ids.size(); });
    return all;
}

/// The vector of one input. `rows`: last hidden states [tokens, width]. `pooled`: output of the pooler; empty if there
/// is none.
std::vector<float> pool(const Model& model, const std::vector<float>& rows, const std::vector<float>& pooled,
                        const std::string& pooling) {
    const std::int64_t width = model.info().width;
    if (pooling == "mean") return mean_rows(rows, width);
    if (pooling == "cls") return {rows.begin(), rows.begin() + width};
    if (pooled.empty())
        throw Error(ErrorKind::usage, "embed: " + model.info().name + " has no pooler; use --pooling mean or cls");
    return pooled;
}

void normalise(std::vector<float>& vector) {
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    if (squares > 0)
        for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
}

using OnVector = std::function<void(std::size_t number, std::vector<float>)>;

/// Embeds texts of one size, as many at a time as fit in a run.
void embed_size(const Model& model, const EmbedOptions& o, std::span<const Text> texts, const OnVector& on_vector) {
    // per run; masked language models compute logits over the whole vocabulary for every row
    const std::size_t max_rows = config_of(model).head == Head::masked_lm ? 512 : 4096, max_texts = 32;
    const std::size_t size = texts.front().size(),
                      together = std::min({texts.size(), max_texts, std::max<std::size_t>(max_rows / size, 1)});
    Batch batch(model, static_cast<std::int64_t>(together),
                {.context = std::min(model.info().context, static_cast<std::int64_t>(size)),
                 .precision = precision_named(o.precision),
                 .profile = profiling(),
                 .masked_heads = masked_heads(o.masked)});
    for (std::size_t first = 0; first < texts.size(); first += together) {
        const std::span<const Text> some = texts.subspan(first, std::min(together, texts.size() - first));
        batch.restart();
        for (std::size_t i = 0; i < some.size(); ++i) batch[static_cast<std::int64_t>(i)].append(some[i].ids);
        batch.run();
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto sequence = static_cast<std::int64_t>(i);
            on_vector(some[i].number, pool(model, batch[sequence].last_hidden().vector(),
                                           batch[sequence].pooled().vector(), o.pooling));
        }
    }
    note_dispatches(model.device(), batch.take_timings());
}

void embed_texts(const Model& model, const EmbedOptions& o, std::span<const std::string> texts,
                 const OnVector& on_vector) {
    const std::vector<Text> sorted = by_length(model, texts);
    Progress progress("embedding");
    std::int64_t done = 0;
    for (std::span<const Text> rest = sorted; !rest.empty();) {
        const std::size_t size = rest.front().size();
        const auto end = std::ranges::find_if(rest, [&](const Text& text) { return text.size() != size; });
        embed_size(model, o, rest.first(static_cast<std::size_t>(end - rest.begin())),
                   [&](std::size_t number, std::vector<float> vector) {
                       progress.show(++done, std::ssize(texts));
                       on_vector(number, std::move(vector));
                   });
        rest = rest.subspan(static_cast<std::size_t>(end - rest.begin()));
    }
}

void embed_images(const Model& model, const EmbedOptions& o, const OnVector& on_vector) {
    Session session(
        model,
        {.precision = precision_named(o.precision), .profile = profiling(), .masked_heads = masked_heads(o.masked)});
    Progress progress("embedding");
    std::size_t number = 0;
    for (std::size_t file = 0; file < o.images.size(); ++file) {
        progress.show(static_cast<std::int64_t>(file), std::ssize(o.images));
        for (const ModelImage& image : read_model_images(model, o.images[file])) {
            session.set_image(image.pixels);
            session.run();
            on_vector(number++, pool(model, session.last_hidden().vector(), session.pooled().vector(), o.pooling));
        }
    }
    note_dispatches(model.device(), session.take_timings());
}

void run(const EmbedOptions& o) {
    const std::vector<std::string> texts = o.images.empty() ? texts_of(o) : std::vector<std::string>();
    const Model model = load_model(open_device());
    if (config_of(model).kind != ModelKind::encoder)
        throw Error(ErrorKind::usage, "embed: " + model.info().name + " is " + model.info().architecture +
                                          "; embed needs an encoder (bert, roberta, longformer, distilbert, vit)");
    if (config_of(model).is_vision() && o.images.empty())
        throw Error(ErrorKind::usage, "embed: " + model.info().name + " is a vision model; give --image FILE");
    std::vector<std::vector<float>> vectors;
    const auto note = [&](std::size_t number, std::vector<float> vector) {
        if (o.normalise) normalise(vector);
        vectors.resize(std::max(vectors.size(), number + 1));
        vectors[number] = std::move(vector);
    };
    if (o.images.empty())
        embed_texts(model, o, texts, note);
    else
        embed_images(model, o, note);
    std::vector<float> all;
    for (const std::vector<float>& vector : vectors) {
        if (o.save.empty()) write_out(nlohmann::json(vector).dump() + "\n");
        all.insert(all.end(), vector.begin(), vector.end());
    }
    if (o.save.empty()) return;
    const std::int64_t count = std::ssize(vectors);
    write_safetensors(o.save, {{"embeddings", "F32", {count, std::ssize(all) / count}, std::as_bytes(std::span(all))}},
                      {{"model", model.info().name}, {"pooling", o.pooling}});
}

}  // namespace

void add_embed(CLI::App& app) {
    auto o = std::make_shared<EmbedOptions>();
    CLI::App* command = app.add_subcommand("embed", "Turn texts or images into vectors with an encoder");
    command->footer(
        "Prints one vector per line as JSON. OUT holds the tensor embeddings [texts or images, width]. Texts of "
        "similar length "
        "run in batches.\n\n"
        "Examples:\n"
        "  vantage embed -m models/all-MiniLM-L6-v2 -p \"a red key\" -p \"a box\" --normalise\n"
        "  vantage embed -m models/bert --pooling cls --save out.safetensors < lines.txt\n"
        "  vantage embed -m models/vit --pooling cls --image cat.jpg dog.png");
    add_model_option(*command);
    CLI::Option* prompt =
        command
            ->add_option("-p,--prompt", o->prompts,
                         "Input text; can be given several times. Default: one text per line of stdin")
            ->type_name("TEXT");
    command
        ->add_option("--image", o->images,
                     "Input images: PNG or JPEG, preprocessed as the model's preprocessor_config.json says, or "
                     "safetensors files "
                     "with pixel_values")
        ->type_name("FILE")
        ->excludes(prompt);
    command
        ->add_option(
            "--pooling", o->pooling,
            "mean: mean of all tokens or patches; cls: the first token; pooler: the output of the model's pooler")
        ->check(CLI::IsMember({"mean", "cls", "pooler"}))
        ->capture_default_str();
    command->add_flag("--normalise,--normalize", o->normalise,
                      "Scale vectors to length 1, so that dot products are cosine similarities");
    command->add_option("--save", o->save, "Write the vectors to this file (safetensors) instead of stdout")
        ->type_name("OUT");
    add_precision_option(*command, o->precision);
    add_head_mask_option(*command, o->masked);
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
