// vantage embed: texts to vectors, by an encoder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "generation_options.h"
#include "head_mask.h"
#include "progress.h"
#include "prompt_batch.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "vantage/batch.h"
#include "vectors.h"

namespace vantage::cli {

namespace {

struct EmbedOptions {
    std::vector<std::string> prompts;
    std::string pooling = "mean", save, precision = "f16", masked;
    bool normalise = false;
};

/// The texts of -p, or the lines of stdin.
std::vector<std::string> texts_of(const EmbedOptions& o) {
    if (!o.prompts.empty()) return o.prompts;
    const std::vector<std::string> lines = lines_of(read_stdin());
    if (lines.empty())
        throw Error(ErrorKind::usage, "embed: there is no text; give -p TEXT, or a text a line on stdin");
    return lines;
}

struct Text {
    std::size_t number;
    std::vector<std::int32_t> ids;
    /// Texts of one size run together: at most half of their rows are padding.
    std::size_t size() const { return std::bit_ceil(std::max<std::size_t>(ids.size(), 8)); }
};

/// The texts' ids, those of the fewest tokens first.
std::vector<Text> by_length(const Model& model, const std::vector<std::string>& texts) {
    std::vector<Text> all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        all.push_back({i, model.tokenizer().encode(texts[i], true).ids});
        if (const std::size_t count = all.back().ids.size();
            count == 0 || std::cmp_greater(count, model.info().context))
            throw Error(ErrorKind::usage, format("embed: text %zu has %zu tokens, wanted 1 to %lld", i + 1, count,
                                                 static_cast<long long>(model.info().context)));
    }
    std::ranges::stable_sort(all, {}, [](const Text& text) { return text.ids.size(); });
    return all;
}

std::vector<float> vector_of(const Batch& batch, std::int64_t sequence, const std::string& pooling) {
    const std::int64_t width = batch.model().info().width;
    const std::vector<float>& rows = batch.last_hidden(sequence);
    if (pooling == "mean") return mean_rows(rows, width);
    if (pooling == "cls") return {rows.begin(), rows.begin() + width};
    if (batch.pooled(sequence).empty())
        throw Error(ErrorKind::usage,
                    "embed: " + batch.model().info().name + " has no pooler; take --pooling mean or cls");
    return batch.pooled(sequence);
}

void normalise(std::vector<float>& vector) {
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    if (squares > 0)
        for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
}

/// Runs texts of one size, as many at a time as a run takes.
void embed_size(const Model& model, const EmbedOptions& o, std::span<const Text> texts,
                const std::function<void(std::size_t, std::vector<float>)>& note) {
    constexpr std::size_t most_rows = 4096, most_texts = 32;  // of a run
    const std::size_t size = texts.front().size(),
                      together = std::min({texts.size(), most_texts, std::max<std::size_t>(most_rows / size, 1)});
    Batch batch(model, static_cast<std::int64_t>(together),
                {.context = std::min(model.info().context, static_cast<std::int64_t>(size)),
                 .precision = precision_named(o.precision),
                 .silenced = masked_heads(o.masked)});
    for (std::size_t first = 0; first < texts.size(); first += together) {
        const std::span<const Text> some = texts.subspan(first, std::min(together, texts.size() - first));
        batch.restart();
        for (std::size_t i = 0; i < some.size(); ++i) batch.append(static_cast<std::int64_t>(i), some[i].ids);
        batch.process();
        for (std::size_t i = 0; i < some.size(); ++i)
            note(some[i].number, vector_of(batch, static_cast<std::int64_t>(i), o.pooling));
    }
}

void run(const EmbedOptions& o) {
    const std::vector<std::string> texts = texts_of(o);
    const Model model = load_model(open_device());
    if (model.config().kind != ModelKind::encoder || model.config().sees())
        throw Error(ErrorKind::usage,
                    "embed: " + model.info().name + " is " + model.info().architecture +
                        ", but vectors are made by encoders of text (bert, roberta, longformer, distilbert)");
    std::vector<std::vector<float>> vectors(texts.size());
    Progress progress("embedding");
    std::int64_t done = 0;
    const auto note = [&](std::size_t number, std::vector<float> vector) {
        progress.show(++done, std::ssize(texts));
        if (o.normalise) normalise(vector);
        vectors[number] = std::move(vector);
    };
    const std::vector<Text> sorted = by_length(model, texts);
    for (std::span<const Text> rest = sorted; !rest.empty();) {
        const std::size_t size = rest.front().size();
        const auto end = std::ranges::find_if(rest, [&](const Text& text) { return text.size() != size; });
        embed_size(model, o, rest.first(static_cast<std::size_t>(end - rest.begin())), note);
        rest = rest.subspan(static_cast<std::size_t>(end - rest.begin()));
    }
    std::vector<float> all;
    for (const std::vector<float>& vector : vectors) {
        if (o.save.empty()) write_out(nlohmann::json(vector).dump() + "\n");
        all.insert(all.end(), vector.begin(), vector.end());
    }
    if (o.save.empty()) return;
    write_safetensors(o.save,
                      {{"embeddings", "F32", {std::ssize(texts), model.info().width}, std::as_bytes(std::span(all))}},
                      {{"model", model.info().name}, {"pooling", o.pooling}});
}

}  // namespace

void add_embed(CLI::App& app) {
    auto o = std::make_shared<EmbedOptions>();
    CLI::App* command = app.add_subcommand("embed", "Turn texts into vectors, by an encoder");
    command->footer(
        "One vector a line, as JSON; OUT holds embeddings [texts, width]. Texts of similar lengths run together.\n\n"
        "Examples:\n"
        "  vantage embed -m models/all-MiniLM-L6-v2 -p \"a red key\" -p \"a box\" --normalise\n"
        "  vantage embed -m models/bert --pooling cls --save out.safetensors < lines.txt");
    add_model_option(*command);
    command
        ->add_option("-p,--prompt", o->prompts,
                     "Text; may be given several times. Without it each line of stdin is one")
        ->type_name("TEXT");
    command
        ->add_option("--pooling", o->pooling,
                     "mean of all tokens, cls: the first one's, or pooler: what the model makes of that")
        ->check(CLI::IsMember({"mean", "cls", "pooler"}))
        ->capture_default_str();
    command->add_flag("--normalise,--normalize", o->normalise, "Divide by the length, so that products are cosines");
    command->add_option("--save", o->save, "Write the vectors to a file (safetensors) instead")->type_name("OUT");
    add_precision_option(*command, o->precision);
    add_head_mask_option(*command, o->masked);
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
