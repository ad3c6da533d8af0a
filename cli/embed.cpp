// vantage embed: texts or images to vectors, by an encoder.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "generation_options.h"
#include "head_mask.h"
#include "model_images.h"
#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "vantage/session.h"
#include "vectors.h"

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
    std::vector<std::string> lines;
    const std::string all = read_stdin();
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        lines.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    if (lines.empty())
        throw Error(ErrorKind::usage, "embed: there is no text; give -p TEXT, or a text a line on stdin");
    return lines;
}

std::vector<float> vector_of(const Session& session, const std::string& pooling) {
    const std::int64_t width = session.model().info().width;
    const std::vector<float> rows = session.last_hidden();
    if (pooling == "mean") return mean_rows(rows, width);
    if (pooling == "cls") return {rows.begin(), rows.begin() + width};
    if (session.pooled().empty())
        throw Error(ErrorKind::usage,
                    "embed: " + session.model().info().name + " has no pooler; take --pooling mean or cls");
    return session.pooled();
}

void normalise(std::vector<float>& vector) {
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    if (squares > 0)
        for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
}

using OnVector = std::function<void(std::vector<float>)>;

void embed_texts(const EmbedOptions& o, Session& session, const OnVector& on_vector) {
    const std::vector<std::string> texts = texts_of(o);
    Progress progress("embedding");
    for (std::size_t i = 0; i < texts.size(); ++i) {
        progress.show(static_cast<std::int64_t>(i), std::ssize(texts));
        session.restart();
        const std::vector<std::int32_t> ids = session.model().tokenizer().encode(texts[i], true).ids;
        if (ids.empty() || std::ssize(ids) > session.context())
            throw Error(ErrorKind::usage, format("embed: text %zu has %zu tokens, wanted 1 to %lld", i + 1, ids.size(),
                                                 static_cast<long long>(session.context())));
        session.append(ids);
        session.process();
        on_vector(vector_of(session, o.pooling));
    }
}

void embed_images(const EmbedOptions& o, Session& session, const OnVector& on_vector) {
    Progress progress("embedding");
    for (std::size_t i = 0; i < o.images.size(); ++i) {
        progress.show(static_cast<std::int64_t>(i), std::ssize(o.images));
        for (const ModelImage& image : read_model_images(session.model(), o.images[i])) {
            session.look(image.pixels);
            session.process();
            on_vector(vector_of(session, o.pooling));
        }
    }
}

void run(const EmbedOptions& o) {
    const Model model = load_model(open_device());
    if (model.config().kind != ModelKind::encoder)
        throw Error(ErrorKind::usage,
                    "embed: " + model.info().name + " is " + model.info().architecture +
                        ", but vectors are made by encoders (bert, roberta, longformer, distilbert, vit)");
    if (model.config().sees() && o.images.empty())
        throw Error(ErrorKind::usage, "embed: " + model.info().name + " looks at images; give --image FILE");
    Session session(model, {.precision = precision_named(o.precision), .silenced = masked_heads(o.masked)});
    std::vector<float> all;
    std::int64_t count = 0;
    (o.images.empty() ? embed_texts : embed_images)(o, session, [&](std::vector<float> vector) {
        if (o.normalise) normalise(vector);
        if (o.save.empty()) std::printf("%s\n", nlohmann::json(vector).dump().c_str());
        all.insert(all.end(), vector.begin(), vector.end());
        ++count;
    });
    if (o.save.empty()) return;
    write_safetensors(o.save, {{"embeddings", "F32", {count, std::ssize(all) / count}, std::as_bytes(std::span(all))}},
                      {{"model", model.info().name}, {"pooling", o.pooling}});
}

}  // namespace

void add_embed(CLI::App& app) {
    auto o = std::make_shared<EmbedOptions>();
    CLI::App* command = app.add_subcommand("embed", "Turn texts or images into vectors, by an encoder");
    command->footer(
        "One vector a line, as JSON; OUT holds embeddings [texts or images, width].\n\n"
        "Examples:\n"
        "  vantage embed -m models/all-MiniLM-L6-v2 -p \"a red key\" -p \"a box\" --normalise\n"
        "  vantage embed -m models/bert --pooling cls --save out.safetensors < lines.txt\n"
        "  vantage embed -m models/vit --pooling cls --image cat.jpg dog.png");
    add_model_option(*command);
    CLI::Option* prompt = command
                              ->add_option("-p,--prompt", o->prompts,
                                           "Text; may be given several times. Without it each line of stdin is one")
                              ->type_name("TEXT");
    command
        ->add_option("--image", o->images,
                     "Images: PNG or JPEG, by the folder's preprocessor_config.json; or pixel_values of a safetensors "
                     "file")
        ->type_name("FILE")
        ->excludes(prompt);
    command
        ->add_option("--pooling", o->pooling,
                     "mean of all tokens or patches, cls: the first one's, or pooler: what the model makes of that")
        ->check(CLI::IsMember({"mean", "cls", "pooler"}))
        ->capture_default_str();
    command->add_flag("--normalise,--normalize", o->normalise, "Divide by the length, so that products are cosines");
    command->add_option("--save", o->save, "Write the vectors to a file (safetensors) instead")->type_name("OUT");
    add_precision_option(*command, o->precision);
    add_head_mask_option(*command, o->masked);
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
